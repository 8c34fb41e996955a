"""For all tests: a loaded machine is slow now and then, which is no failure.

The run has a directory in which its processes share the spaces that they have explored
(`support/spaces.py`); tests marked as `untraced` are not measured (`support/economy.py`). Nothing
is imported here that is measured: workers of xdist begin to measure after it.
"""

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Generator

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from support.economy import SHARED, untraced

pytest_plugins = ["pytester"]

settings.register_profile("groupcheck", deadline=None)
settings.load_profile("groupcheck")

# Hypothesis tries the constants of whatever modules are loaded: what a seed does would be another
# thing after other tests.
providers._get_local_constants = Constants

# Explored spaces are tuples of tuples: to look through them for garbage finds none.
gc.set_threshold(50_000)

# In the background (nohup, a job of a shell) these are ignored, and by what tests start as well:
# that they end a run could not be seen.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

MADE_HERE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "untraced: coverage is not measured in this test")
    if SHARED not in os.environ:  # which the workers of xdist are given
        config.stash[MADE_HERE] = tempfile.mkdtemp(prefix="groupcheck-spaces-")
        os.environ[SHARED] = config.stash[MADE_HERE]


def pytest_unconfigure(config: pytest.Config) -> None:
    if MADE_HERE in config.stash:
        del os.environ[SHARED]
        shutil.rmtree(config.stash[MADE_HERE], ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _measured_or_not(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _measured_or_not(item))


def _measured_or_not(item: pytest.Item) -> Generator[None, object, object]:
    if item.get_closest_marker("untraced") is None:
        return (yield)
    with untraced():
        return (yield)
