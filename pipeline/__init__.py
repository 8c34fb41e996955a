"""The data pipeline on Spark: reads what groups did, and checks it against the model."""
