"""What a finding is, and how it becomes short, of one form, and explained."""
