"""Thousands of sequences side by side on a real clock."""
