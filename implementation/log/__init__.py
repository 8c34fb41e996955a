"""The log of groups and offsets: records, their encoding, and storage in memory or in files."""
