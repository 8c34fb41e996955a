"""Results as something a person or a CI reads."""
