"""The rules that several APIs and timers share."""
