"""Properties of a coordinator, and how they are tested."""
