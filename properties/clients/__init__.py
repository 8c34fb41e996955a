"""Real clients led through sequences of inputs, by a process that plays their only broker."""
