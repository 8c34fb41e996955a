"""For all tests: a loaded machine is slow now and then, which is no failure."""

from hypothesis import settings

settings.register_profile("groupcheck", deadline=None)
settings.load_profile("groupcheck")
