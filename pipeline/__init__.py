"""The data pipeline on Spark: reads recordings, logs and records, and checks them."""
