"""Logs of brokers: their lines, and an automaton derived from the model that they are held to."""
