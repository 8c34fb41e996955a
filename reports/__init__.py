"""Results in the formats that people and CI systems read."""
