"""The APIs: the rules that answer each request."""
