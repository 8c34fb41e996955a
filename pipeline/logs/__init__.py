"""Reads the logs of brokers, and checks them against an automaton derived from the model."""
