"""The consumer's side of the classic group protocol, sans-IO: what happens in, what it does out."""
