"""Checks recordings, and histories of requests that overlap."""
