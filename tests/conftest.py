"""For all tests: a loaded machine is slow now and then, which is no failure."""

import gc

from hypothesis import settings

settings.register_profile("groupcheck", deadline=None)
settings.load_profile("groupcheck")

# Explored spaces are tuples of tuples: to look through them for garbage finds none.
gc.set_threshold(50_000)
