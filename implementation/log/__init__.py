"""The log that groups are kept in: its records, their bytes, and where they are stored."""
