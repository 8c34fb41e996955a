"""The model instances: the number of members, the settings, and the requests of clients."""
