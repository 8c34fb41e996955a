"""One small verification of a random port, its result rendered in every format."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import Any, Final
from xml.etree import ElementTree as ET

import msgspec

from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.instances.small import small_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.properties.explored import Explored, explored
from groupcheck.properties.ports.port import PortUnavailableError
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.verify import Verification
from groupcheck.reports.badge import as_badge
from groupcheck.reports.changes import changes
from groupcheck.reports.explored_graphs import Graphs
from groupcheck.reports.files import finding_files
from groupcheck.reports.formatting import bounded
from groupcheck.reports.github import as_annotations
from groupcheck.reports.html import as_html
from groupcheck.reports.junit import as_junit
from groupcheck.reports.markdown import as_markdown
from groupcheck.reports.record import ResultRecord
from groupcheck.reports.record_file import as_text
from groupcheck.reports.terminal import summary
from groupcheck.reports.verification_record import result_record

VERSIONS: Final = ("2.7", "4.1")
INSTANCES: Final = ("membership", "metadata", "administration", "static", "reload")
TRANSITIONS: Final = 8  # of the tours of one run
LIMIT_S: Final = 15.0


class TooSlowError(BaseException):
    """A run did not end in time."""


@cache
def instance(profile: str, name: str) -> Explored:
    """One of the small instances, explored."""
    of = PROFILES[profile]
    found = virtual_time_instances(of, 1) | small_instances(of, 1)
    return explored({name: found[name]})


def settings(profile: str, seed: int) -> Settings:
    """The settings of one run."""
    return Settings(profile, members=1, examples=1, steps=12, seed=seed, max_findings=1, walks=2)


def ended(make: Callable[[Random], PortSource], pick: Random) -> str:
    """Make a random port, verify it and render the result; return how the run ended.

    Raises an AssertionError if a report is not valid, TooSlowError, and any error of groupcheck.
    """
    profile, seed = pick.choice(VERSIONS), pick.randrange(2**30)
    given = instance(profile, pick.choice(INSTANCES))
    (space,) = given.spaces.values()
    wanted = {id(pick.choice(pick.choice(space.edges))) for _ in range(TRANSITIONS)}
    with limited(LIMIT_S):
        try:
            run = Verification(
                make(pick),
                settings(profile, seed),
                given=given,
                wanted=lambda edge: id(edge) in wanted,
            )
            result = run.run()
        except PortUnavailableError as error:
            bounded(str(error)).encode()
            return "not available"
        result.covered = run.covered()
        rendered(result)
    if result.findings:
        return "findings"
    return "ended early" if result.ended_early else "no finding"


def rendered(result: Result) -> None:
    """Render a result as `verify` and `report` do; raises what they raise."""
    saved = result_record(result)
    again = msgspec.convert(json.loads(as_text(saved)), ResultRecord, strict=True, str_keys=True)
    assert json.loads(as_text(again)) == json.loads(as_text(saved))
    changed = changes(again, None)
    ET.fromstring(as_junit(again, changed))  # noqa: S314 (it is ours)
    ET.fromstring(as_badge(again))  # noqa: S314 (it is ours)
    texts = [
        summary(saved, [], more=True),
        as_html(again, changed, Graphs((), ())),
        as_markdown(again, changed),
        as_annotations(again, changed),
    ]
    for finding in again.findings:
        files = finding_files(finding)
        compile(files[f"test_finding_{finding.id}.py"], "test", "exec")
        ET.fromstring(files[f"finding_{finding.id}.svg"])  # noqa: S314 (it is ours)
        texts += files.values()
    for text in texts:
        text.encode()


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooSlowError in the block when it takes longer."""

    def ring(*_: Any) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again, if something catches it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
