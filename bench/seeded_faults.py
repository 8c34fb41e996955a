"""Which of Kafka's past bugs a verification finds: `python bench/seeded_faults.py [--whole]`.

Writes docs/seeded-faults.md: of each bug what tours and walks of one space come to, in about two
minutes. With `--whole` each copy is verified as by default, too, and by tours, walks and the state
machine alone: some 20 minutes of one core. It ends with status 1 if a bug is not found.
"""

from __future__ import annotations

import sys
import time
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # for what tests share

from groupcheck.model.profiles import PROFILES
from groupcheck.properties.explored import Explored, explored, virtual
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.verify import Verification
from support.faults import KAFKA, faulty_port, source
from support.faults.fault import Fault
from support.seeded_table import (
    SHOWN_IN,
    SOURCES,
    WALKS,
    Shown,
    Whole,
    page,
    whole_of,
    whole_table,
)
from support.shortest import shortest

EXAMPLES = Settings().examples
PAGE = Path(__file__).parents[1] / "docs" / "seeded-faults.md"


def first(name: str, result: Result) -> Finding:
    """The finding with the fewest steps."""
    if not result.findings:
        sys.exit(f"{name} is not found")
    return min(result.findings, key=lambda finding: len(finding.sequence.steps))


def shown(name: str, fault: Fault) -> Shown:
    """Go over the one space that is to show it."""
    space = SHOWN_IN[name]
    instance = virtual(PROFILES[fault.profile], Settings(fault.profile))[space]
    started = time.process_time()
    given = explored({space: instance})
    settings = Settings(fault.profile, examples=0, walks=WALKS)
    finding = first(name, Verification(source(name), settings, given=given).run())
    seconds, steps = time.process_time() - started, len(finding.sequence.steps)
    least = shortest(given.spaces[space], faulty_port(name), steps)
    return Shown(name, fault, finding.finding_id, steps, least, seconds)


def tell_shown() -> list[Shown]:
    """What the one space shows of each."""
    found: list[Shown] = []
    for name, fault in KAFKA.items():
        found.append(shown(name, fault))
        _, _, finding_id, steps, least, seconds = found[-1]
        line = f"{name:12} {finding_id} {steps} steps, {least} at least, {seconds:.1f} s"
        print(line, flush=True)  # noqa: T201
    return found


@cache
def spaces(profile: str) -> tuple[Explored, float]:
    """The spaces of a default verification, and the seconds it takes to explore them."""
    started = time.process_time()
    return explored(virtual(PROFILES[profile], Settings(profile))), time.process_time() - started


def alone(name: str, given: Explored) -> dict[str, float | None]:
    """The seconds that each source takes to find it by itself; None if it does not."""
    settings = Settings(KAFKA[name].profile, examples=0, max_findings=1)
    found: dict[str, float | None] = {}
    for sort, each in zip(
        SOURCES,
        (settings, settings._replace(walks=WALKS), settings._replace(examples=EXAMPLES)),
        strict=True,
    ):
        wanted = None if sort == "tours" else (lambda _edge: False)
        started = time.process_time()
        result = Verification(source(name), each, given=given, wanted=wanted).run()
        found[sort] = time.process_time() - started if result.findings else None
    return found


def tell_whole() -> list[Whole]:
    """Verify each copy as by default, and by each source alone."""
    found: list[Whole] = []
    for name, fault in KAFKA.items():
        (given, seconds), settings = spaces(fault.profile), Settings(fault.profile, walks=WALKS)
        started = time.process_time()
        result = Verification(source(name), settings, given=given).run()
        seconds += time.process_time() - started
        steps = len(first(name, result).sequence.steps)
        found.append(Whole(name, alone(name, given), seconds, len(result.findings)))
        where = ", ".join(s.name for s in result.instances if s.transitions.diverged)
        print(f"{name:12} {steps} steps, {seconds:.0f} s, in {where}; {found[-1]}", flush=True)  # noqa: T201
    return found


def main(*, whole: bool) -> None:
    """Write the page; without `whole` the table of what finds each bug stays."""
    table = whole_table(tell_whole()) if whole else whole_of(PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page(tell_shown(), table), encoding="utf-8")


if __name__ == "__main__":
    main(whole=sys.argv[1:] == ["--whole"])
