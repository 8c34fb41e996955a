"""The offsets topic: what a broker stores of groups, held to what the model appends."""
