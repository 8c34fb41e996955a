"""Reads the offsets topic, and checks the records of groups against those of the model."""
