"""Two-phase commit: the smallest whole specification, and the tutorial of the documentation."""
