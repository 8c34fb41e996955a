"""Real brokers to verify; each is started from here and ends with the run."""
