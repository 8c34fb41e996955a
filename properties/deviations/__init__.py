"""Deviations: how a port differs from Kafka, as edits of the rule table."""
