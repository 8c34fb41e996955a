"""Recordings of requests and responses."""
