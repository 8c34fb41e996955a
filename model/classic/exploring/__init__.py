"""Exploration: every reachable state and transition, and statistics of them."""
