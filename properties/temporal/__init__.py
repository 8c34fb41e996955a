"""Temporal properties of the model: invariants, action properties and liveness."""
