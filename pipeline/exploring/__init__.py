"""Explores model instances on Spark, of any size."""
