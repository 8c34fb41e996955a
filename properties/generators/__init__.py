"""Generators of sequences: state machine, random walks, tours and suites."""
