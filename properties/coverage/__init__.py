"""Which transitions of the model a port has covered, in one run and in many."""
