"""The engine: what every specification uses. It imports nothing else of this project."""
