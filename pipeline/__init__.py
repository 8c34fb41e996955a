"""The data pipeline on Spark: what groups did, taken in and held to the model, at any size."""
