"""The adapters that connect groupcheck to a coordinator under test."""
