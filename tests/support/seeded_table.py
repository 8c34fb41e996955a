"""The tables of docs/seeded-faults.md: the finding of each seeded fault, its length and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from support.faults import ABSENT, KAFKA
from support.faults.fault import Fault

# For each fault a small one of the default instances that reveal it.
SHOWN_IN: Final = {
    "KAFKA-2720": "membership",
    "KAFKA-6005": "metadata",
    "KAFKA-7610": "membership",
    "KAFKA-9885": "crowded",
    "KAFKA-8896": "reload",
    "KAFKA-9232": "membership",
    "KAFKA-10134": "metadata",
    "KAFKA-12890": "reload",
    "KAFKA-8220": "static",
    "KAFKA-8715": "failing-static",
    "KAFKA-10284": "failing-static",
    "KAFKA-13435": "failing-static",
    "KAFKA-2596": "loners",
    "KAFKA-4472": "loners",
    "KAFKA-6773": "loners",
    "KAFKA-7403": "loners",
    "KAFKA-13636": "expiry",
    "KAFKA-14201": "loners",
    "KAFKA-19163": "loners",
    "KAFKA-19246": "loners",
    "KAFKA-4704": "failover-administration",
    "KAFKA-5600": "reload",
    "KAFKA-8069": "loners",
    "MINOR #4788": "failover-administration",
    "KAFKA-8386": "failover-administration",
    "a heartbeat from an old generation is accepted": "metadata",
    "the generation is not raised when the last member leaves": "metadata",
    "a follower is given the member list": "metadata",
}
# By how many steps a finding is longer than the shortest sequence.
LONGER: Final[dict[str, int]] = {}

WALKS: Final = 500  # the default

HEAD: Final = """\
# Bugs that Kafka had

Would `groupcheck verify` have found the bugs that releases of Kafka had? This page seeds 27 of
them into copies of this project's coordinator (`tests/support/faults/`). Each is checked against a
version whose specification has the correct behaviour: a bug that was fixed in 2.2 is seeded into
2.7, and a bug that was fixed after 2.7 into 4.1.

`python bench/seeded_faults.py` writes this page, and a test compares it with a run. It verifies
each copy on one of the default model instances, with tours, 500 random walks, and the inner state
reported. *steps* is the length of the shortest finding, *shortest* that of the shortest sequence
in the instance that reveals the bug, found by exhaustive search. *seconds* is the CPU time, which
includes going on after the first finding and minimising all findings. `--whole` also writes the
second table: which generator finds each bug in a default verification.

| bug | version | behaviour of the copy | instance | finding | steps | shortest | seconds |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""

WHOLE_HEAD: Final = """
## Which generator finds each bug

`python bench/seeded_faults.py --whole` verifies each copy with the defaults of `groupcheck
verify`: on every model instance, with tours, 500 walks and 100 sequences of the Hypothesis state
machine; then with each of the three generators alone, up to its first finding. The numbers are CPU
seconds until the findings are minimal; those of the *whole run* include exploring the instances. A
dash means that the generator does not find the bug alone. *findings* is the number in the whole
run. The seed is 0. KAFKA-4704 needs a group that was removed earlier, which is not part of the
model's state: tours and walks find it with some seeds only.

| bug | tours | walks | state machine | whole run | findings |
| --- | --- | --- | --- | --- | --- |
"""

ABSENT_TITLE: Final = "\n## Bugs that no sequence reveals\n"
ABSENT_HEAD: Final = f"""{ABSENT_TITLE}
| bug | why |
| --- | --- |
"""

SOURCES: Final = ("tours", "walks", "state machine")


class Whole(NamedTuple):
    """The seconds in which each generator finds a fault; None if it does not find it alone."""

    name: str
    alone: Mapping[str, float | None]
    seconds: float
    findings: int


class Shown(NamedTuple):
    """The finding of one fault in its instance."""

    name: str
    fault: Fault
    finding_id: str
    steps: int
    shortest: int
    seconds: float


def page(found: Sequence[Shown], whole: str) -> str:
    """Return the page, with the table of a default verification."""
    absent = "".join(f"| {name} | {why} |\n" for name, why in ABSENT.items())
    equal = sum(each.steps == each.shortest for each in found)
    summary = f"\nThe finding has the minimal length for {equal} of {len(found)}.\n"
    return HEAD + "".join(map(line, found)) + summary + whole + ABSENT_HEAD + absent


def whole_of(text: str) -> str:
    """Return the part of a page that `whole_table` has written."""
    return text[text.index(WHOLE_HEAD.splitlines()[1]) - 1 : text.index(ABSENT_TITLE)]


def whole_table(found: Sequence[Whole]) -> str:
    """Return the table of a default verification, and how many bugs each generator finds."""
    counts = ", ".join(f"{source} {count}" for source, count in _counts(found).items())
    summary = f"\nOf {len(found)} bugs the whole run finds {len(found)}; alone: {counts}.\n"
    if left := [name for name in KAFKA if all(name != each.name for each in found)]:
        summary += f"Not measured in their current form: {', '.join(left)}.\n"
    return WHOLE_HEAD + "".join(map(_whole_line, found)) + summary


def _counts(found: Sequence[Whole]) -> dict[str, int]:
    return {name: sum(each.alone[name] is not None for each in found) for name in SOURCES}


def _whole_line(whole: Whole) -> str:
    alone = (whole.alone[name] for name in SOURCES)
    times = (f"{seconds:.1f}" if seconds is not None else "-" for seconds in alone)
    cells = (whole.name, *times, f"{whole.seconds:.0f}", str(whole.findings))
    return f"| {' | '.join(cells)} |\n"


def line(shown: Shown) -> str:
    """The row of one fault."""
    cells = (
        shown.name,
        shown.fault.profile,
        shown.fault.says.rstrip("."),
        f"`{SHOWN_IN[shown.name]}`",
        f"`{shown.finding_id}`",
        str(shown.steps),
        str(shown.shortest),
        f"{shown.seconds:.1f}",
    )
    return f"| {' | '.join(cells)} |\n"
