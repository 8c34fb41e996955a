"""What of the model was shown, in one run and in many."""
