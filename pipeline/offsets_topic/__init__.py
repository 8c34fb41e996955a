"""The offsets topic: the records of groups, checked against those of the model."""
