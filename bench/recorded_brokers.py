"""Records tests of a broker for `tests/recorded/`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.histories.recorded_tests import (
    RecordedTest,
    RecordingOfTests,
    dump,
    load,
)
from groupcheck.properties.histories.recording_file import opened
from groupcheck.properties.long_runs.long_run import long_run
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings
from groupcheck.properties.tolerances import Tolerances
from groupcheck.properties.verify import Verification
from groupcheck.reports.progress import Bars

# Lower tolerances make a test stricter: each test gets the first of these that it conforms to.
LATE_MS: Final = (100, 200, 500, 1_000)

FOLDER: Final = Path(__file__).parents[1] / "tests" / "recorded"
# Those whose rules are confirmed by recorded tests.
RECORDED: Final = ("kafka:0.10.2", "kafka:2.7", "kafka:3.9", "kafka:4.1")

# The test suite checks all of them, at 0.7 ms a step. They are of all stages.
MOST_TESTS: Final = 200


def recording_of(port: str) -> Path:
    """The recorded tests of a port."""
    return FOLDER / f"{port.replace(':', '-')}.jsonl.xz"


def record(
    source: PortSource, settings: Settings, path: Path, differs: Callable[[Finding], None]
) -> tuple[int, int]:
    """Run a long run, and record the tests that conform; returns their number and their steps.

    The others show bugs of Kafka; `differs` receives the finding of each.
    """
    raw = path.with_suffix(".raw.xz")
    raw.unlink(missing_ok=True)
    tolerances = source.tolerances
    assert tolerances is not None
    try:
        with Bars() as bars, RecordingOfTests(raw, source.spec, tolerances) as recording:
            schedule = long_run()
            Verification(source, settings, bars, schedule=schedule, record=recording.add).run()
    finally:
        source.stop()
    tests = steps = 0
    every = list(conforming(load(raw), differs))
    kept = min(len(every), MOST_TESTS)
    with opened(path, "wb") as file:
        for recorded in (every[number * len(every) // kept] for number in range(kept)):
            file.write(dump(recorded, {}).encode())
            tests, steps = tests + 1, steps + len(recorded.test.exchanges)
    raw.unlink()
    return tests, steps


def conforming(
    tests: Iterable[RecordedTest], differs: Callable[[Finding], None]
) -> Iterator[RecordedTest]:
    """The conforming tests, each with the lowest tolerance with which it conforms."""
    for recorded in tests:
        finding = recorded.test.finding(recorded.profile)
        if finding is not None:
            differs(finding)
            continue
        for late_ms in LATE_MS:
            tolerances = Tolerances(late_ms, min(late_ms, Tolerances().early_ms))
            test = recorded.test._replace(tolerances=tolerances)
            if test.allowed_by(recorded.profile):
                yield recorded._replace(test=test)
                break
