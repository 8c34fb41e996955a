"""Exploring a space that need not fit into one machine."""
