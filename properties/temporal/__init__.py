"""What must always hold in the model, and what must come to an end."""
