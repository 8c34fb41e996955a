"""Merges several results: a transition is covered if a run covers it, each finding appears once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from groupcheck.properties.code.code import ChangedCodeError, Code, united
from groupcheck.properties.coverage.kind import united as united_outcomes
from groupcheck.properties.result import InstanceCoverage, Pairs, Tours, TransitionCounts
from groupcheck.reports.formatting import bounded
from groupcheck.reports.record import Check, FindingRecord, ResultRecord, RuleCoverage
from groupcheck.reports.terminal import verdict

Key = tuple[str, int, tuple[tuple[str, int], ...]]

# The counts of a check that are added; and the number of listed groups that rebalance often.
COUNTS: Final = ("groups", "accepted", "rejected", "undecided", "events", "events_checked")
MOST_OFTEN: Final = 3

replace = msgspec.structs.replace


class NotMergedError(ValueError):
    """The results cannot be merged; the message says which, and why."""


class Named(NamedTuple):
    """A result, and the name of its file."""

    name: str
    saved: ResultRecord


def merged(several: Sequence[Named]) -> ResultRecord:
    """The results merged; a single one is returned unchanged.

    Raises:
        NotMergedError: they are of different commands, versions of Kafka or models, they are
            explorations, or they have different texts of the same source file.
    """
    (first_name, first), *others = several
    if not others:
        return first
    for name, saved in others:
        if saved.command != first.command:
            msg = f"{name} is a result of {saved.command} and {first_name} of {first.command}"
            raise NotMergedError(msg)
        if saved.exploration is not None:
            msg = f"{name} and {first_name} are explorations, which cannot be merged"
            raise NotMergedError(msg)
        if saved.profile != first.profile:
            msg = f"{name} is of {_kafka(saved)} and {first_name} of {_kafka(first)}"
            raise NotMergedError(msg)
    each = [named.saved for named in several]
    together = replace(
        first,
        port=", ".join(dict.fromkeys(saved.port for saved in each)),
        time_over="; ".join(dict.fromkeys(s.time_over for s in each if s.time_over)),
        answered=any(saved.answered for saved in each),
        ended_early="; ".join(dict.fromkeys(s.ended_early for s in each if s.ended_early)),
        sequences=sum(saved.sequences for saved in each),
        steps=sum(saved.steps for saved in each),
        seconds=round(sum(saved.seconds for saved in each), 3),
        unsupported=_once(what for saved in each for what in saved.unsupported),
        assumed_defaults=_once(what for saved in each for what in saved.assumed_defaults),
        findings=_findings(each),
        findings_truncated=sum(saved.findings_truncated for saved in each),
        findings_not_reproduced=sum(saved.findings_not_reproduced for saved in each),
        instances=_instances(several),
        pairs=_pairs(each),
        rules=_rules(each),
        runs=tuple(run for saved in each for run in saved.runs),
        code=_code(several),
        lines=tuple(line for named in several for line in _lines(named)),
        check=_checks([saved.check for saved in each if saved.check is not None]),
    )
    conforms = together.decided and not together.new and not together.ended_early
    together = replace(together, conforms=conforms)
    return replace(together, verdict=verdict(together))


def _lines(named: Named) -> tuple[str, ...]:
    """The lines of one of several results."""
    return (bounded(f"from {named.name}:"), *named.saved.lines) if named.saved.lines else ()


def _kafka(saved: ResultRecord) -> str:
    return f"Kafka {saved.profile}" if saved.profile else saved.kafka


def key(instance: InstanceCoverage) -> Key:
    """The identity of an instance: its name, its members, and the broker's settings."""
    return instance.name, instance.members, tuple(sorted(instance.broker.items()))


def same_graph(one: InstanceCoverage, other: InstanceCoverage) -> bool:
    """Whether the outcomes of both are of the same transitions."""
    return one.digest == other.digest and len(one.outcomes) == len(other.outcomes)


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _instances(several: Sequence[Named]) -> tuple[InstanceCoverage, ...]:
    found: dict[Key, tuple[str, list[InstanceCoverage]]] = {}
    for name, saved in several:
        for each in saved.instances:
            first_name, known = found.setdefault(key(each), (name, []))
            if known and not same_graph(known[0], each):
                msg = (
                    f"instance {each.name} of {name} is of another model than that of {first_name}"
                )
                raise NotMergedError(msg)
            known.append(each)
    return tuple(_united(instances) for _, instances in found.values())


def _united(several: list[InstanceCoverage]) -> InstanceCoverage:
    """The same instance of several runs; their tours together have no lower bound."""
    if len(several) == 1:
        return several[0]
    outcomes = united_outcomes(each.outcomes for each in several)
    taken: Counter[str] = Counter()
    for each in several:
        taken.update(each.group_transitions)
    return replace(
        several[0],
        transitions=TransitionCounts.of(outcomes),
        outcomes=outcomes,
        tours=Tours(
            sum(each.tours.tests for each in several), sum(each.tours.steps for each in several)
        ),
        group_transitions=dict(sorted(taken.items())),
    )


def _pairs(each: Iterable[ResultRecord]) -> tuple[Pairs, ...]:
    """The pairs of each instance in the run that covered most; results do not name pairs."""
    found: dict[str, Pairs] = {}
    for pairs in (pairs for saved in each for pairs in saved.pairs):
        known = found.get(pairs.instance)
        if known is None or known.pairs.covered < pairs.pairs.covered:
            found[pairs.instance] = pairs
    return tuple(found.values())


def _rules(each: Iterable[ResultRecord]) -> RuleCoverage | None:
    rules = [saved.rules for saved in each if saved.rules is not None]
    if not rules:
        return None
    applied = _once(rule for one in rules for rule in one.applied)
    return RuleCoverage(
        applied=applied,
        not_applied=_once(r for one in rules for r in one.not_applied if r not in applied),
        guard_false=_once(rule for one in rules for rule in one.guard_false),
    )


def _code(several: Sequence[Named]) -> Code | None:
    codes = [named.saved.code for named in several if named.saved.code is not None]
    try:
        return united(codes) if codes else None
    except ChangedCodeError as error:
        raise NotMergedError(str(error)) from error


def _findings(each: Iterable[ResultRecord]) -> tuple[FindingRecord, ...]:
    """Each finding once, the shortest first."""
    found = {finding.id: finding for saved in each for finding in saved.findings}
    return tuple(sorted(found.values(), key=lambda finding: (len(finding.trace), finding.id)))


def _checks(several: Sequence[Check]) -> Check | None:
    """The checks merged, if there are any; the transitions they cover together are not known."""
    if not several:
        return None
    reads = [check.read for check in several if check.read is not None]
    often = (each for check in several for each in check.rebalancing)
    return replace(
        several[0],
        **{name: sum(getattr(check, name) for check in several) for name in COUNTS},
        reasons=_summed(check.reasons for check in several),
        transitions_covered=None,
        transitions_explored=None,
        explored_and_covered=None,
        rebalancing=tuple(sorted(often, key=lambda each: -each.times)[:MOST_OFTEN]),
        read=_summed(reads) if len(reads) == len(several) else None,
        rebalances=tuple(each for check in several for each in check.rebalances),
    )


def _summed(several: Iterable[dict[str, int]]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for each in several:
        counts.update(each)
    return dict(counts.most_common())
