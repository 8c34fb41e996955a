"""Assignors, as a group's leader runs them: subscriptions in, assignments out."""
