"""For all tests: sets up Hypothesis and signals, and marks and counts expensive tests.

Nothing is imported here whose coverage is measured: workers of xdist begin to measure later.
"""

import gc
import os
import signal
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from support.economy import untraced

pytest_plugins = ["pytester"]

# A busy machine sometimes exceeds any deadline.
settings.register_profile("groupcheck", deadline=None)
settings.load_profile("groupcheck")

# Hypothesis tries the constants of all loaded modules, so that the effect of a seed would depend on
# the tests that ran before.
providers._get_local_constants = Constants

# Explored instances are tuples of tuples, in which the garbage collector finds nothing.
gc.set_threshold(50_000)

# A shell ignores these signals in its background jobs (nohup), and the programs that tests start
# inherit that: no test could see that a signal ends them.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# Each of the programs that tests start would compile all modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

DESELECTED = pytest.StashKey[int]()
EXPENSIVE = ("slow", "spark", "external", "exhaustive")


@pytest.fixture(scope="session", autouse=True)
def _derived_once() -> Iterator[None]:
    """Share values that derive only from Kafka's rules between all tests of a process."""
    from groupcheck.properties import explored  # noqa: PLC0415 - its coverage is measured
    from groupcheck.properties.deviations import search  # noqa: PLC0415
    from support.spaces import edits_once, explored_once  # noqa: PLC0415

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explored, "space_of", explored_once)
        patch.setattr(search, "edits_of", edits_once)
        yield


def pytest_configure(config: pytest.Config) -> None:
    config.stash[DESELECTED] = 0


def pytest_itemcollected(item: pytest.Item) -> None:
    uses_spark = "spark" in getattr(item, "fixturenames", ())
    if uses_spark and item.get_closest_marker("smoke") is None:
        item.add_marker("spark")


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    if not items:  # as with --last-failed, if every test of a file failed
        return
    config = items[0].config
    expensive = [item for item in items if any(map(item.get_closest_marker, EXPENSIVE))]
    config.stash[DESELECTED] += len(expensive)
    if hasattr(config, "workeroutput"):  # a worker of xdist reports to the controller
        config.workeroutput["deselected"] = config.stash[DESELECTED]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    # All workers of xdist collect the same tests, and deselect the same.
    found = getattr(node, "workeroutput", {}).get("deselected", 0)
    node.config.stash[DESELECTED] = max(node.config.stash[DESELECTED], found)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    count = config.stash[DESELECTED]
    if count and config.option.markexpr in config.getini("addopts"):
        terminalreporter.write_sep("-", "expensive tests")
        terminalreporter.write_line(
            f"{count} tests are deselected: they are slow, start Spark, or need programs that PyPI "
            f"does not have. To run them: pytest -m '{' or '.join(EXPENSIVE)}'"
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    from support.needs import skip_what_cannot_run  # noqa: PLC0415 - it imports measured modules

    skip_what_cannot_run(item)
    return (yield from _measured_or_not(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _measured_or_not(item))


def _measured_or_not(item: pytest.Item) -> Generator[None, object, object]:
    if item.get_closest_marker("untraced") is None:
        return (yield)
    with untraced():
        return (yield)
