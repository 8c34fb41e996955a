"""Logs of brokers, and the automaton of the model that checks them."""
