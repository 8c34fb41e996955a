"""Real brokers to be verified, each started from here and gone with the run."""
