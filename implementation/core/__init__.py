"""The coordinator itself, sans-IO: requests and time in, responses and appends out."""
