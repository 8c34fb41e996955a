"""Compares a cluster with its specification."""
