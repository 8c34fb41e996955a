"""Results as text, pages, and the formats of CI systems."""
