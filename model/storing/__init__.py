"""The log: what is appended to it, what waits for it, and what is left when it is lost."""
