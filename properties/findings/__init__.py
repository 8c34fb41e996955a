"""Findings: shrinking, canonical form, explanation."""
