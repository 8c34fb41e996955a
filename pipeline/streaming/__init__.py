"""Checks files and records of the offsets topic as they arrive."""
