"""The log: appends, responses that wait for them, and loading after a failover."""
