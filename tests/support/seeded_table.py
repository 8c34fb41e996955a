"""The table of seeded faults, docs/seeded-faults.md: what of each is found, where, and how soon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from support.faults import ABSENT, KAFKA
from support.faults.fault import Fault

# For each fault a small one of the spaces that show it by default.
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
# How many steps more a finding takes than the shortest there is, where it does.
LONGER: Final[dict[str, int]] = {}

WALKS: Final = 500  # as by default

HEAD: Final = """\
# Bugs that Kafka had

27 bugs that releases of Kafka had, put into copies of the coordinator of this repository
(`tests/support/faults/`): would `groupcheck verify` have found them? A bug is judged by a version
under which what is right is a rule, so that one repaired in 2.2 is put into 2.7, and one repaired
after 2.7 into 4.1.

`python bench/seeded_faults.py` writes this page, and a test holds it to the truth. Each copy
is verified on one of the spaces that a verification has by default, by tours and 500 random walks,
its inner state shown. *Steps* are those of the shortest finding, *shortest* those of the shortest
sequence of the space that shows the bug at all, found by trying them all; *seconds* are those of
one CPU for all of it, which goes on past what is found, and until what was found is minimal.
`--whole` writes the second table as well: what finds each bug in a verification by default.

| bug | version | what the copy does | space | finding | steps | shortest | seconds |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""

WHOLE_HEAD: Final = """
## What finds each

`python bench/seeded_faults.py --whole`: each copy is verified as `groupcheck verify` does by
default, on every space, with its 500 walks and 100 sequences of the state machine; and by each of
the three sources alone, which stops at its first finding. Given are seconds of one CPU until what
was found is minimal, for the *whole run* with those that it takes to explore the spaces; a dash
where a source does not find the bug by itself. *Findings* are those of the whole run. All is with
seed 0. KAFKA-4704 shows only where a group was removed before, which no state of the model tells:
with some seeds tours and walks come by it, and with others they do not.

| bug | tours | walks | state machine | whole run | findings |
| --- | --- | --- | --- | --- | --- |
"""

ABSENT_TITLE: Final = "\n## What no sequence shows\n"
ABSENT_HEAD: Final = f"""{ABSENT_TITLE}
| bug | why |
| --- | --- |
"""

SOURCES: Final = ("tours", "walks", "state machine")


class Whole(NamedTuple):
    """What finds one fault: the seconds that each source takes, None if it does not find it."""

    name: str
    alone: Mapping[str, float | None]
    seconds: float
    findings: int


class Shown(NamedTuple):
    """What was found of one fault in its space."""

    name: str
    fault: Fault
    finding_id: str
    steps: int
    shortest: int
    seconds: float


def page(found: Sequence[Shown], whole: str) -> str:
    """The page, with the table of what finds each bug in a whole verification."""
    absent = "".join(f"| {name} | {why} |\n" for name, why in ABSENT.items())
    equal = sum(each.steps == each.shortest for each in found)
    told = f"\nThe finding is as short as can be in {equal} of {len(found)}.\n"
    return HEAD + "".join(map(line, found)) + told + whole + ABSENT_HEAD + absent


def whole_of(text: str) -> str:
    """The part of a page that `whole_table` has made."""
    return text[text.index(WHOLE_HEAD.splitlines()[1]) - 1 : text.index(ABSENT_TITLE)]


def whole_table(found: Sequence[Whole]) -> str:
    """What finds each bug, and how many bugs each source finds."""
    counts = ", ".join(f"{source} {count}" for source, count in _counts(found).items())
    told = f"\nOf {len(found)} bugs the whole run finds {len(found)}; alone {counts}.\n"
    if left := [name for name in KAFKA if all(name != each.name for each in found)]:
        told += f"Not run yet as they are now: {', '.join(left)}.\n"
    return WHOLE_HEAD + "".join(map(_whole_line, found)) + told


def _counts(found: Sequence[Whole]) -> dict[str, int]:
    return {name: sum(each.alone[name] is not None for each in found) for name in SOURCES}


def _whole_line(whole: Whole) -> str:
    alone = (whole.alone[name] for name in SOURCES)
    told = (f"{seconds:.1f}" if seconds is not None else "-" for seconds in alone)
    cells = (whole.name, *told, f"{whole.seconds:.0f}", str(whole.findings))
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
