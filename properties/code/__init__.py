"""Code coverage of a port by transition: which of its lines run in which transition."""
