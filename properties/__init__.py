"""What must hold, and how it is put to the test."""
