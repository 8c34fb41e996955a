"""Programs that run consumers of a library in Python, for `ProcessPort`."""
