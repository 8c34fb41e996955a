"""Exploration: every reachable state and transition, and what is to be said of them."""
