"""Several saved results as one: coverage united, each finding once, nothing run again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from groupcheck.properties.code.code import Code
from groupcheck.properties.code.ran import ChangedCodeError, united
from groupcheck.properties.coverage.kind import united as united_kinds
from groupcheck.properties.result import Shares
from groupcheck.reports.merging_checks import checks
from groupcheck.reports.saved import Found, Pairs, Phase, Rules, Run, Saved, Space, Tours
from groupcheck.reports.terminal import verdict
from groupcheck.reports.words import bounded

Key = tuple[str, int, tuple[tuple[str, int], ...]]


class NotMergedError(ValueError):
    """Results cannot be put together; the message says which, and why."""


class Named(NamedTuple):
    """A saved result, and what it is called: its file."""

    name: str
    saved: Saved


def merged(several: Sequence[Named]) -> Saved:
    """The results put together; one alone is what it is.

    Raises:
        NotMergedError: they are of different commands or versions of Kafka, of different models, of
            explorations, or of the same file of code with different texts.
    """
    (first_name, first), *others = several
    if not others:
        return first
    for name, saved in others:
        if saved.command != first.command:
            msg = f"{name} is a result of {saved.command} and {first_name} of {first.command}"
            raise NotMergedError(msg)
        if saved.exploration is not None:
            msg = f"{name} and {first_name} are explorations, which nobody puts together"
            raise NotMergedError(msg)
        if saved.profile != first.profile:
            msg = f"{name} is of {_kafka(saved)} and {first_name} of {_kafka(first)}"
            raise NotMergedError(msg)
    each = [named.saved for named in several]
    findings = _found(each)
    together = msgspec.structs.replace(
        first,
        port=", ".join(dict.fromkeys(saved.port for saved in each)),
        ended_early="; ".join(dict.fromkeys(s.ended_early for s in each if s.ended_early)),
        sequences=sum(saved.sequences for saved in each),
        steps=sum(saved.steps for saved in each),
        seconds=round(sum(saved.seconds for saved in each), 3),
        unsupported=tuple(dict.fromkeys(what for saved in each for what in saved.unsupported)),
        presumed=tuple(dict.fromkeys(what for saved in each for what in saved.presumed)),
        more_findings=sum(saved.more_findings for saved in each),
        not_reproduced=sum(saved.not_reproduced for saved in each),
        spaces=_spaces(several),
        pairs=_pairs(each),
        rules=_rules(each),
        runs=tuple(run for saved in each for run in saved.runs),
        findings=findings,
        code=_code(several),
        lines=tuple(line for named in several for line in _lines(named)),
        check=checks([saved.check for saved in each if saved.check is not None]),
    )
    conforms = together.decided and not findings and not together.ended_early
    together = msgspec.structs.replace(together, conforms=conforms)
    return msgspec.structs.replace(together, verdict=verdict(together))


def of_parts(parts: Sequence[Saved]) -> Saved:
    """The parts of one run as the result of that run: what each port came to is one of `runs`."""
    together = merged([Named(saved.port, saved) for saved in parts])
    runs: dict[str, list[Run]] = {}
    for run in together.runs:
        runs.setdefault(run.port, []).append(run)
    return msgspec.structs.replace(together, runs=tuple(map(_one_run, runs.values())))


def _one_run(parts: list[Run]) -> Run:
    """How many random sequences there were each part knows of itself; their curves are no one's."""
    settings = dict(parts[0].settings)
    for name in ("examples", "walks"):
        settings[name] = sum(int(part.settings[name]) for part in parts)
    settings["seed"] = min(int(part.settings["seed"]) for part in parts)
    return msgspec.structs.replace(
        parts[0],
        started=min(part.started for part in parts),
        seconds=round(sum(part.seconds for part in parts), 3),
        sequences=sum(part.sequences for part in parts),
        steps=sum(part.steps for part in parts),
        ended_early="; ".join(dict.fromkeys(p.ended_early for p in parts if p.ended_early)),
        settings=settings,
        curve=(),
        phases=_phases(parts),
    )


def _phases(parts: list[Run]) -> tuple[Phase, ...]:
    seconds: defaultdict[str, float] = defaultdict(float)
    for phase in (phase for part in parts for phase in part.phases):
        seconds[phase.name] += phase.seconds
    return tuple(Phase(name=name, seconds=round(took, 3)) for name, took in seconds.items())


def _lines(named: Named) -> tuple[str, ...]:
    """What was told of one of several."""
    return (bounded(f"of {named.name}:"), *named.saved.lines) if named.saved.lines else ()


def _kafka(saved: Saved) -> str:
    return f"Kafka {saved.profile}" if saved.profile else saved.kafka


def key(space: Space) -> Key:
    """Which space it is: its name, its members, and the broker's settings."""
    return space.name, space.members, tuple(sorted(space.broker.items()))


def same_graph(one: Space, other: Space) -> bool:
    """Whether the letters of both are of the same edges."""
    return one.digest == other.digest and len(one.edge_kinds) == len(other.edge_kinds)


def _spaces(several: Sequence[Named]) -> tuple[Space, ...]:
    found: dict[Key, tuple[str, list[Space]]] = {}
    for name, saved in several:
        for space in saved.spaces:
            first_name, known = found.setdefault(key(space), (name, []))
            if known and not same_graph(known[0], space):
                msg = f"the space {space.name} of {name} is of another model than {first_name}'s"
                raise NotMergedError(msg)
            known.append(space)
    return tuple(_united(spaces) for _, spaces in found.values())


def _united(spaces: list[Space]) -> Space:
    """The same space of several runs; how few steps all the tours could have nobody knows."""
    if len(spaces) == 1:
        return spaces[0]
    kinds = united_kinds(space.edge_kinds for space in spaces)
    figures = {f"edges_{n}": v for n, v in Shares.of(kinds)._asdict().items() if n != "edges"}
    tours = Tours(
        tests=sum(space.tours.tests for space in spaces),
        steps=sum(space.tours.steps for space in spaces),
    )
    arrows: Counter[str] = Counter()
    for space in spaces:
        arrows.update(space.arrows)
    return msgspec.structs.replace(
        spaces[0],
        edges=Shares.of(kinds).edges,
        edge_kinds=kinds,
        tours=tours,
        arrows=dict(sorted(arrows.items())),
        **figures,
    )


def _pairs(each: Iterable[Saved]) -> tuple[Pairs, ...]:
    """Of the pairs of a space those of the run that showed the most: which they are is not kept."""
    found: dict[str, Pairs] = {}
    for pairs in (pairs for saved in each for pairs in saved.pairs):
        known = found.get(pairs.space)
        if known is None or known.shown < pairs.shown:
            found[pairs.space] = pairs
    return tuple(found.values())


def _rules(each: Iterable[Saved]) -> Rules | None:
    rules = [saved.rules for saved in each if saved.rules is not None]
    if not rules:
        return None
    applied = dict.fromkeys(rule for one in rules for rule in one.applied)
    return Rules(
        applied=tuple(applied),
        starved=tuple(
            dict.fromkeys(rule for one in rules for rule in one.starved if rule not in applied)
        ),
        passed_over=tuple(dict.fromkeys(rule for one in rules for rule in one.passed_over)),
    )


def _code(several: Sequence[Named]) -> Code | None:
    codes = [named.saved.code for named in several if named.saved.code is not None]
    try:
        return united(codes) if codes else None
    except ChangedCodeError as error:
        raise NotMergedError(str(error)) from error


def _found(each: Iterable[Saved]) -> tuple[Found, ...]:
    """Each finding once, the shortest first."""
    found = {finding.id: finding for saved in each for finding in saved.findings}
    return tuple(sorted(found.values(), key=lambda finding: (len(finding.trace), finding.id)))
