"""Which single edits of the rules a default run finds: `python bench/single_edits.py VERSION`.

For each edit of a rule table (`model/edits.py`) the product of the explored graphs, Kafka's and the
edited one's, is searched for a sequence that shows it: in the instances of a default run, then in
those of all features with one member. If there is none, it is invisible there. Every other edit is
run as a port, the model with the edit, which shows no inner state, through a default verification:
it is found, or missed, or missed and visible in an instance that a default run does not have.

`--most N` takes N edits at random, `--seed` seeds that and the runs; after `--time S` seconds no
edit begins. Prints the missed edits, each with a sequence that shows it, and a table by
area. Ends with status 1 if an edit is missed in the instances of a default run.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # for what tests share

from groupcheck.model.edits import edits_of
from groupcheck.model.engine.edits import Edit, table_of
from groupcheck.model.instances.instance import feature_instances
from groupcheck.model.profiles import PROFILES
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request
from groupcheck.properties.explored import Explored, explored, virtual
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings
from groupcheck.properties.verify import Verification
from support.model_port import ModelPort
from support.product import Known, Product, UndecidedError, known

FOUND, INVISIBLE, UNDECIDED = "found", "invisible", "undecided"
MISSED, ELSEWHERE = "missed", "other instance"  # visible in a default run's instances, or elsewhere
WALKS: Final = 500  # the default


class Verdict(NamedTuple):
    """What became of an edit: the instance and the sequence that show it, if it was missed."""

    edit: str
    area: str
    outcome: str
    instance: str = ""
    sequence: tuple[Input, ...] = ()
    seconds: float = 0

    def __str__(self) -> str:
        where = f" [{self.instance}: {', '.join(map(words, self.sequence))}]"
        return f"{self.outcome}: {self.edit}{where if self.instance else ''}"


class Setting(NamedTuple):
    """What all edits of a version share: the instances, explored once."""

    profile: Profile
    seed: int
    given: Explored
    default: dict[str, Known]
    others: dict[str, Known]


def setting(version: str, seed: int) -> Setting:
    """Explore the instances."""
    profile = PROFILES[version]
    instances = virtual(profile, Settings(version))
    given = explored(instances)
    others = feature_instances(profile, 1)
    rest = explored({n: i for n, i in others.items() if i not in instances.values()})
    return Setting(
        profile,
        seed,
        given,
        _known(given),
        {f"{name}, one member": each for name, each in _known(rest).items()},
    )


def _known(given: Explored) -> dict[str, Known]:
    """The instances, the smallest first: an edit is looked for until one shows it."""
    by_size = sorted(given.spaces.items(), key=lambda each: each[1].transition_count)
    return {name: known(space) for name, space in by_size}


def verdict(here: Setting, edit: Edit) -> Verdict:
    """Look for a sequence that shows an edit, and run it as a port if there is one."""
    began = time.process_time()
    result = Verdict(str(edit), area_of(here.profile, edit), *_outcome(here, edit))
    return result._replace(seconds=time.process_time() - began)


def _outcome(here: Setting, edit: Edit) -> tuple[str, str, tuple[Input, ...]]:
    undecided = ""
    for outcome, instances in ((MISSED, here.default), (ELSEWHERE, here.others)):
        for name, each in instances.items():
            try:
                steps = Product.of(each, edit).shortest()
            except UndecidedError:
                undecided = name
                continue
            if steps is not None:
                return (FOUND, "", ()) if is_found(here, edit) else (outcome, name, steps)
    if not undecided:
        return INVISIBLE, "", ()
    return (FOUND, "", ()) if is_found(here, edit) else (UNDECIDED, undecided, ())


def is_found(here: Setting, edit: Edit) -> bool:
    """Whether a default run has a finding."""
    edited = here.profile.edited(edit)
    seeds = iter(range(here.seed, sys.maxsize))
    source = PortSource("an edited model", lambda: ModelPort(next(seeds), edited))
    settings = Settings(here.profile.name, seed=here.seed, max_findings=1, walks=WALKS)
    return bool(Verification(source, settings, given=here.given).run().findings)


def area_of(profile: Profile, edit: Edit) -> str:
    """The area of the table that an edit is in; of a procedure or a behaviour its own."""
    version = profile.version
    rule = getattr(edit, "rule", "") or getattr(edit, "first", "")
    if rule in profile.rules:
        table = table_of(version, rule)
        return next(area for area, tables in version.areas.items() if table in tables)
    return "procedures" if rule else "behaviours"


def words(given: Input) -> str:
    """An input in a few words."""
    if not isinstance(given, Request):
        return str(given)
    named = {
        name: value
        for name, value in zip(given.body._fields, given.body, strict=True)
        if name in {"member_id", "generation_id", "group_instance_id", "members"} and value
    }
    return f"{given.api} v{given.api_version} {named or ''}".strip()


_mine: dict[str, Setting] = {}  # of this process and those that it forks


def _verdict(given: tuple[int, float]) -> Verdict | None:
    """The verdict on an edit, given its number; None if it would begin too late."""
    number, until = given
    here = _mine["setting"]
    if time.monotonic() > until:
        return None
    return verdict(here, list(edits_of(here.profile))[number])


def table(verdicts: list[Verdict]) -> str:
    """A row for each area."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in verdicts:
        counts[each.area][each.outcome] += 1
        counts["all"][each.outcome] += 1
    columns = (FOUND, INVISIBLE, MISSED, ELSEWHERE, UNDECIDED)
    lines = [f"{'area':24}{'edits':>7}" + "".join(f"{name:>16}" for name in columns)]
    for area in [*sorted(counts.keys() - {"all"}), "all"]:
        cells = "".join(f"{counts[area][name]:16}" for name in columns)
        lines.append(f"{area:24}{counts[area].total():7}{cells}")
    return "\n".join(lines)


def main() -> int:
    """Run the edits, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("version", choices=PROFILES)
    parser.add_argument("--most", type=int, metavar="N", help="N edits at random (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time", type=float, default=float("inf"), metavar="S")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    here = _mine["setting"] = setting(options.version, options.seed)
    numbers = list(range(len(list(edits_of(here.profile)))))
    if options.most is not None:
        numbers = Random(options.seed).sample(numbers, min(options.most, len(numbers)))
    until = time.monotonic() + options.time
    verdicts: list[Verdict] = []
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        for each in pool.imap_unordered(_verdict, [(number, until) for number in numbers]):
            if each is not None:
                verdicts.append(each)
                print(f"{each.seconds:.0f} s, {each}", file=sys.stderr, flush=True)  # noqa: T201
        pool.close()
        pool.join()
    for each in verdicts:
        if each.outcome not in {FOUND, INVISIBLE}:
            print(each)  # noqa: T201
    print(f"\n{options.version}, seed {options.seed}\n{table(verdicts)}")  # noqa: T201
    print(f"{sum(each.seconds for each in verdicts):.0f} s of processor")  # noqa: T201
    return int(any(each.outcome == MISSED for each in verdicts))


if __name__ == "__main__":
    sys.exit(main())
