"""The adapters through which a coordinator is reached."""
