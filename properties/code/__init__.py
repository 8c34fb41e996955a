"""A port's code held against the model: which of its lines run under which labelled edge."""
