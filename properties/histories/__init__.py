"""What was done by many at once, or recorded, judged afterwards."""
