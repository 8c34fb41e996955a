"""Verifies assignors: of client libraries, and of this repository."""
