"""The past bugs of Kafka that a verification finds: `python bench/seeded_faults.py [OPTION]`.

Verifies a copy of the coordinator with each bug by tours and walks of one model instance, in about
two minutes, and writes docs/seeded-faults.md. `--whole` also runs a default verification of each
copy, and one by each generator alone: 20 minutes on one core. Ends with status 1 if a bug is not
found.

`--seeds N` writes no page: it runs a default verification of each copy with N seeds, and prints how
many ids of findings all of them have, and the ids that only some have: half an hour of CPU for each
seed. `--bug NAME ...` chooses the bugs. Ends with status 1 if there is an id that only some have.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # for what tests share

from whole_runs import run_whole

from groupcheck.model.classic.profiles import PROFILES
from groupcheck.properties.explored import Explored, explored, virtual
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.verify import Verification
from support.faults import ABSENT, KAFKA, faulty_port, source
from support.faults.fault import Fault
from support.shortest import shortest

WALKS: Final = 500  # the default
EXAMPLES = Settings().examples
PAGE = Path(__file__).parents[1] / "docs" / "seeded-faults.md"

HEAD: Final = f"""\
# Bugs that Kafka had

Would `groupcheck verify` have found the bugs that releases of Kafka had? {len(KAFKA)} of them are
seeded into copies of this project's coordinator (`tests/support/faults/`). [No sequence reveals
{len(ABSENT)} others](#bugs-that-no-sequence-reveals). Each copy is checked against a version whose
specification has the correct behaviour: a bug that was fixed in 2.2 is seeded into 2.7, and a bug
that was fixed after 2.7 into 4.1.

`python bench/seeded_faults.py` writes this page; tests compare the quicker rows with a run. It
verifies each copy on one of the default model instances, with tours, 500 random walks, and the
inner state reported. *steps* is the length of the shortest finding, *shortest* that of the shortest
sequence in the instance that reveals the bug, found by exhaustive search. *seconds* is the CPU time
of the whole verification: it continues after the first finding, and minimises all findings.
`--whole` also writes the second table: which generator finds each bug in a default verification.

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


def first(name: str, result: Result) -> Finding:
    """The finding with the fewest steps."""
    if not result.findings:
        sys.exit(f"{name} is not found")
    return min(result.findings, key=lambda finding: len(finding.sequence.steps))


def one_instance(fault: Fault) -> Explored:
    """The instance on which a fault is verified."""
    instance = virtual(PROFILES[fault.profile], Settings(fault.profile))[fault.instance]
    return explored({fault.instance: instance})


def verified(name: str, given: Explored) -> Result:
    """The result of a fault's verification by tours and walks of its instance."""
    settings = Settings(KAFKA[name].profile, examples=0, walks=WALKS)
    return run_whole(Verification(source(name), settings, given=given))


class Whole(NamedTuple):
    """The seconds that each generator alone takes to find a fault; None if it does not."""

    name: str
    alone: dict[str, float | None]
    seconds: float
    findings: int


def shown(name: str, fault: Fault) -> tuple[str, bool]:
    """The row of a fault, verified on its instance, and whether the finding is minimal."""
    started = time.process_time()
    given = one_instance(fault)
    finding = first(name, verified(name, given))
    seconds, steps = time.process_time() - started, len(finding.sequence.steps)
    least = shortest(given.spaces[fault.instance], faulty_port(name), steps)
    row = f"{fault.row(finding.finding_id, steps, least)} {seconds:.1f} |\n"
    print(row, end="", flush=True)  # noqa: T201
    return row, steps == least


@cache
def spaces(profile: str) -> tuple[Explored, float]:
    """The instances of a default verification, and the seconds to explore them."""
    started = time.process_time()
    return explored(virtual(PROFILES[profile], Settings(profile))), time.process_time() - started


def whole_result(name: str, seed: int = 0) -> Result:
    """The result of a fault's default verification, with all generators on all instances."""
    profile = KAFKA[name].profile
    settings = Settings(profile, walks=WALKS, seed=seed)
    return run_whole(Verification(source(name), settings, given=spaces(profile)[0]))


def ids(name: str, seed: int) -> frozenset[str]:
    """The ids of the findings of a fault's default verification."""
    return frozenset(each.finding_id for each in whole_result(name, seed).findings)


def same_ids(names: Iterable[str], seeds: int) -> bool:
    """Whether each fault has the same ids with all seeds; prints a row for each."""
    same = True
    for name in names:
        spaces(KAFKA[name].profile)  # once for all processes
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        for name in names:
            found = pool.starmap(ids, [(name, seed) for seed in range(seeds)], chunksize=1)
            always = frozenset.intersection(*found)
            counts = Counter(each for some in found for each in some - always)
            same &= not counts
            some = "; ".join(f"{each} with {times}" for each, times in sorted(counts.items()))
            print(f"{name:12} {len(always)} with all seeds; {some or 'no other'}", flush=True)  # noqa: T201
    return same


def alone(name: str, given: Explored) -> dict[str, float | None]:
    """The seconds that each generator alone takes to find a fault; None if it does not."""
    settings = Settings(KAFKA[name].profile, examples=0, max_findings=1)
    found: dict[str, float | None] = {}
    for sort, each in zip(
        SOURCES,
        (settings, settings._replace(walks=WALKS), settings._replace(examples=EXAMPLES)),
        strict=True,
    ):
        wanted = None if sort == "tours" else (lambda _edge: False)
        started = time.process_time()
        result = run_whole(Verification(source(name), each, given=given, wanted=wanted))
        found[sort] = time.process_time() - started if result.findings else None
    return found


def verified_whole() -> list[Whole]:
    """Verify each copy with the defaults, and with each generator alone."""
    found: list[Whole] = []
    for name, fault in KAFKA.items():
        given, seconds = spaces(fault.profile)
        started = time.process_time()
        result = whole_result(name)
        seconds += time.process_time() - started
        steps = len(first(name, result).sequence.steps)
        found.append(Whole(name, alone(name, given), seconds, len(result.findings)))
        where = ", ".join(s.name for s in result.instances if s.transitions.diverged)
        print(f"{name:12} {steps} steps, {seconds:.0f} s, in {where}; {found[-1]}", flush=True)  # noqa: T201
    return found


def whole_table(found: list[Whole]) -> str:
    """The table of default verifications, and how many bugs each generator finds."""
    counts = ", ".join(
        f"{name} {sum(each.alone[name] is not None for each in found)}" for name in SOURCES
    )
    summary = f"\nOf {len(found)} bugs the whole run finds {len(found)}; alone: {counts}.\n"
    return WHOLE_HEAD + "".join(map(_whole_line, found)) + summary


def _whole_line(whole: Whole) -> str:
    alone = (whole.alone[name] for name in SOURCES)
    times = (f"{seconds:.1f}" if seconds is not None else "-" for seconds in alone)
    cells = (whole.name, *times, f"{whole.seconds:.0f}", str(whole.findings))
    return f"| {' | '.join(cells)} |\n"


def main(*, whole: bool) -> None:
    """Write the page; without `whole` the table of default verifications stays."""
    before = PAGE.read_text(encoding="utf-8")
    kept = before[before.index(WHOLE_HEAD.splitlines()[1]) - 1 : before.index(ABSENT_TITLE)]
    table = whole_table(verified_whole()) if whole else kept
    found = [shown(name, fault) for name, fault in KAFKA.items()]
    minimal = sum(is_minimal for _, is_minimal in found)
    summary = f"\nThe finding has the minimal length for {minimal} of {len(found)}.\n"
    absent = "".join(f"| {name} | {why} |\n" for name, why in ABSENT.items())
    rows = "".join(row for row, _ in found)
    PAGE.write_text(HEAD + rows + summary + table + ABSENT_HEAD + absent, encoding="utf-8")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--whole", action="store_true", help="also verify each copy as by default")
    options.add_argument("--seeds", type=int, metavar="N", help="compare the ids of N seeds")
    options.add_argument("--bug", nargs="+", choices=KAFKA, default=list(KAFKA), metavar="NAME")
    given_options = options.parse_args()
    if given_options.seeds:
        sys.exit(not same_ids(given_options.bug, given_options.seeds))
    main(whole=given_options.whole)
