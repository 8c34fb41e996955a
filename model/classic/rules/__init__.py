"""Rules that several APIs and timers share."""
