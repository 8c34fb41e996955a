"""Exploration: every reachable state and labelled edge, and what is to be said of them."""
