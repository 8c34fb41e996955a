"""Holding to the model what keeps arriving."""
