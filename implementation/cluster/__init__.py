"""A cluster: brokers, their controller and the store that they share, without I/O."""
