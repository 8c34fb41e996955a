"""The edits of the rules that verification finds: `python bench/edits.py VERSION [--several]`.

A port is the model with edits of its rule tables (`model/classic/edits.py`); it shows no inner
state. An edit is visible if the product of the explored graphs, of the model and of the port, has a
sequence that shows it.

Each edit is verified alone with the defaults. It is found; or missed; or missed and visible only in
another one-member instance; or invisible in all of them. `--most N` takes N edits at random; after
`--time S` seconds no further edit starts. Prints the missed edits, each with a sequence that shows
it, and a table by area. Ends with status 1 if an edit is missed in the instances of a default run.

With `--several`, ports with several random edits at once, `--runs` for each number of them. An edit
is visible if a sequence distinguishes the port from the model with the other edits, in an instance
of a default run (`--instance` takes some of them). For each number, prints how many edits are

- visible,
- named: reported as they are;
- equal: not named, but the causes describe the port: the model with them allows every response in
  every state, no field may have any value, and no edit applies only sometimes;
- missed: the others;

and how many causes are wrong (no edit of the port, and no description of it), how many findings
have no cause, and how many traces of named edits have the minimal length.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # for what tests share

from whole_runs import run_whole

from groupcheck.model.classic.edits import edits_of
from groupcheck.model.classic.instances.instance import feature_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.edits import Edit, Sometimes, UnknownPartError, about, table_of
from groupcheck.model.vocabulary import Request
from groupcheck.properties.deviations.candidates import is_vague
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.explored import Explored, explored, virtual, with_deviations
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings
from groupcheck.properties.verify import Verification
from groupcheck.reports.finding_title import title
from support.model_port import ModelPort
from support.product import Known, Product, UndecidedError, known, only_with

FOUND, INVISIBLE, UNDECIDED = "found", "invisible", "undecided"
MISSED, ELSEWHERE = "missed", "other instance"  # visible in a default run's instances, or elsewhere
WALKS: Final = 500  # the default
NUMBERS: Final = (2, 3, 5, 8)  # of edits at once
WALKS_OF_SEVERAL: Final = 100
MOST_CAUSES: Final = 50


class Verdict(NamedTuple):
    """The result for an edit: the instance and the sequence that show it, if it was missed."""

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
    """The shared data of all runs: the instances, explored once."""

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
        _by_size(given),
        {f"{name}, one member": each for name, each in _by_size(rest).items()},
    )


def _by_size(given: Explored) -> dict[str, Known]:
    """The instances, the smallest first: the search ends at the first that shows an edit."""
    by_size = sorted(given.spaces.items(), key=lambda each: each[1].transition_count)
    return {name: known(space) for name, space in by_size}


def verdict(here: Setting, edit: Edit) -> Verdict:
    """Search for a sequence that shows an edit, and run it as a port if there is one."""
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
    return bool(run_whole(Verification(source, settings, given=here.given)).findings)


def area_of(profile: Profile, edit: Edit) -> str:
    """The area of an edit's table, procedure or behaviour."""
    version = profile.version
    rule = about(edit)
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
    """The verdict on the edit of that number; None if the time is over."""
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


def single(options: argparse.Namespace) -> int:
    """Run each edit by itself, and print the table."""
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
    print(f"{sum(each.seconds for each in verdicts):.0f} s of CPU")  # noqa: T201
    return int(any(each.outcome == MISSED for each in verdicts))


class Count(NamedTuple):
    """The results for the edits of ports, and the CPU time of their verifications."""

    visible: int = 0
    named: int = 0
    equal: int = 0
    missed: int = 0
    wrong: int = 0
    no_cause: int = 0
    shortest: int = 0
    seconds: float = 0


def _count(port: tuple[int, str]) -> Count:
    number, seed = port
    profile, _, given, _, _ = _mine["setting"]
    edits = _chosen(profile, number, seed, given)
    edited = deviating(profile, edits)
    shown = {str(e): s for e in edits if (s := _shown(e, edits, given))}
    started = time.process_time()
    source = PortSource("edited", lambda: ModelPort(edited=edited))
    settings = Settings(profile.name, examples=0, walks=WALKS_OF_SEVERAL, max_findings=MOST_CAUSES)
    found = run_whole(Verification(source, settings, given=given)).findings
    seconds = time.process_time() - started
    causes = {str(each.cause): each for each in found if each.cause is not None}
    named = [causes[edit] for edit in shown if edit in causes]
    others = len(shown) - len(named)
    unlike = causes.keys() - {str(edit) for edit in edits}
    described = bool(others or unlike) and _describe(causes.values(), given, edited)
    counts = Count(
        len(shown),
        len(named),
        others if described else 0,
        0 if described else others,
        0 if described else len(unlike),
        sum(each.cause is None for each in found),
        sum(len(each.sequence.steps) <= shown[str(each.cause)] for each in named),
        seconds,
    )
    lines = [f"port {seed}: {counts}"]
    lines += [
        f"  {shown.get(e, 'invisible')} {'' if e in causes else '!'}{e}" for e in map(str, edits)
    ]
    lines += [f"  cause {len(f.sequence.steps)} {c}" for c, f in causes.items()]
    lines += [f"  none {title(f)}" for f in found if f.cause is None]
    print("\n".join(lines), file=sys.stderr, flush=True)  # noqa: T201
    return counts


def _chosen(profile: Profile, number: int, seed: str, given: Explored) -> tuple[Edit, ...]:
    """Random compatible edits with which each input has an outcome.

    The order is by hash, so that other edits of the rules change few ports.
    """
    every = sorted(edits_of(profile), key=lambda edit: sha256(f"{seed} {edit}".encode()).digest())
    for first in range(0, len(every) - number + 1, number):
        edits = tuple(every[first : first + number])
        with suppress(UnknownPartError):
            if _is_possible(_edited(edits, given)):
                return edits
    msg = "each choice of edits excludes another, or leaves an input without an outcome"
    raise UnknownPartError(msg)


def _is_possible(instances: Iterable[Known]) -> bool:
    """Whether the rules have an outcome for each input; edited ones may read missing objects."""
    moves = (move for each in instances for moves in each.moves for move in moves)
    return all(move.outcomes for move in moves)


def _shown(edit: Edit, edits: tuple[Edit, ...], given: Explored) -> int | None:
    """The steps of the shortest sequence that shows an edit beside the others, if any does."""
    profile = _mine["setting"].profile
    others = tuple(each for each in edits if each is not edit)
    rule = only_with(deviating(profile, others), edit)
    return _shortest(_edited(others, given), deviating(profile, edits), rule)


def _edited(edits: tuple[Edit, ...], given: Explored) -> list[Known]:
    """The instances with these edits, but those that become too large."""
    here = _mine["setting"]
    edited = deviating(here.profile, edits)
    there = with_deviations(given, edited, edits, lambda _states: None)
    return [
        here.default[name] if space is given.spaces[name] else known(space)
        for name, space in there.spaces.items()
        if space is given.spaces[name] or space.instance.profile is edited
    ]


def _shortest(given: list[Known], edited: Profile, rule: str | None = None) -> int | None:
    """The steps of the shortest sequence that distinguishes a port from a model, if any does.

    `rule` is the one without which a step is the same in both, if there is one.
    """
    found: list[int] = []
    for each in given:
        try:
            steps = Product(each, edited, rule).shortest()
        except UndecidedError:
            continue
        if steps is not None:
            found.append(len(steps))
    return min(found, default=None)


def _describe(findings: Iterable[Finding], given: Explored, edited: Profile) -> bool:
    """Whether the causes allow every response of the port, with a value for each field."""
    causes = tuple(each.cause for each in findings if each.cause is not None)
    exact = not any(is_vague(each) or isinstance(each, Sometimes) for each in causes)
    instances = _edited(causes, given) if exact else []
    return len(instances) == len(given.spaces) and _shortest(instances, edited) is None


def several(options: argparse.Namespace) -> int:
    """Run ports with several edits, and print the table."""
    profile = PROFILES[options.version]
    instances = virtual(profile, Settings(options.version))
    if unknown := set(options.instance) - instances.keys():
        sys.exit(f"no instance {', '.join(sorted(unknown))}: there are {', '.join(instances)}")
    given = explored({name: instances[name] for name in options.instance or instances})
    _mine["setting"] = Setting(profile, options.seed, given, _by_size(given), {})
    print("edits  ports  " + "  ".join(Count._fields))  # noqa: T201
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        for number in options.edits:
            ports = [(number, f"{options.seed}/{number}/{run}") for run in range(options.runs)]
            total = Count()
            for each in pool.imap_unordered(_count, ports):
                total = Count._make(map(sum, zip(total, each, strict=True)))
            cells = (f"{n:{len(name)}.0f}" for name, n in zip(Count._fields, total, strict=True))
            print(f"{number:5}  {options.runs:5}  {'  '.join(cells)}", flush=True)  # noqa: T201
    return 0


def main() -> int:
    """Print the table that is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("version", nargs="?", default="2.7", choices=PROFILES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--most", type=int, metavar="N", help="N edits at random (default: all)")
    parser.add_argument("--time", type=float, default=float("inf"), metavar="S")
    parser.add_argument("--several", action="store_true", help="ports with several edits each")
    parser.add_argument("--edits", type=int, nargs="+", default=NUMBERS, help="with --several")
    parser.add_argument("--runs", type=int, default=75, help="with --several")
    only = "with --several: only these instances of a default run"
    parser.add_argument("--instance", nargs="+", default=(), metavar="NAME", help=only)
    options = parser.parse_args()
    return several(options) if options.several else single(options)


if __name__ == "__main__":
    sys.exit(main())
