"""Where sequences come from: state machine, random walks, tours and suites."""
