"""Verifies assignors: groups drawn at random, checked by Kafka's promises, and made minimal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Final, NamedTuple

import hypothesis

from groupcheck.model.assignors.group import Assignment, Group
from groupcheck.model.assignors.promises import (
    ANSWERS,
    SEVERITIES,
    Broken,
    Round,
)
from groupcheck.model.assignors.rebalances import broken_in
from groupcheck.properties.assignors.case_file import Case
from groupcheck.properties.assignors.cases import groups, is_possible
from groupcheck.properties.assignors.causes import Causes, Found, Trial
from groupcheck.properties.assignors.port import AssignorFailedError, AssignorPort
from groupcheck.properties.assignors.smaller import named_in_order, size, smaller

# A port that hangs so often is not asked again: each time costs its time limit.
MOST_HANGS: Final = 5
# How often one group is tried: franz-go's sticky assignor depends on the order of a map.
CHANCES: Final = 10
# How long failures may take together, such as those of a program that is started again each time.
FAILURES_S: Final = 120.0
# In how many seconds at most the groups of a finding are made minimal, and how many of them are
# kept beside the smallest.
MINIMISING_S: Final = 20.0
OTHERS: Final = 3


@dataclass
class Finding:
    """A promise that an assignor breaks, on the smallest group found.

    `count` of the groups tried break it for this cause, which is "" if it is not known. `others`
    are groups from which nothing can be left out either. A group is not made `minimal` after a
    hang, or an interruption.
    """

    assignor: str
    trial: Trial
    count: int
    cause: str
    others: tuple[Trial, ...] = ()
    minimal: bool = False

    @property
    def broken(self) -> Broken:
        """The promise."""
        found = self.trial.broken
        if found is None:
            msg = "a finding breaks a promise"
            raise ValueError(msg)
        return found

    @property
    def rank(self) -> tuple[int, str, str, int]:
        """Findings in the order of a report: the worst first."""
        promise = self.broken.promise
        return SEVERITIES.index(promise.severity), self.assignor, promise.id, -self.count

    @property
    def is_advice(self) -> bool:
        """Whether it is no promise that is broken."""
        return self.broken.is_advice


@dataclass
class Verified:
    """What was tried on an assignor, and what was found."""

    assignor: str
    version: str
    tried: int = 0
    stopped: str = ""
    interrupted: bool = False
    findings: list[Finding] = field(default_factory=list)


def try_group(port: AssignorPort, assignor: str, version: str, group: Group) -> Trial:
    """Have an assignor assign a group, in as many rounds as it takes, and check the result."""
    found: list[Round] = []

    def assign(each: Group) -> Assignment:
        return port.assign(assignor, each)

    try:
        broken = broken_in(assignor, version, group, assign, found)
    except AssignorFailedError as error:
        broken = Broken(ANSWERS, str(error), hung=error.hung)
    return Trial(group, tuple(found), broken)


class Settings(NamedTuple):
    """How assignors are tried.

    `version` is the version of Kafka whose promises count, "2.7" or "4.1"; `cases` is how many
    groups are drawn for each assignor, the same ones for the same `seed`.
    """

    version: str
    cases: int
    seed: int = 0
    racks: bool = True


def verify(
    port: AssignorPort,
    assignor: str,
    settings: Settings,
    progress: Callable[[int], None] = lambda _: None,
) -> Verified:
    """Try an assignor of an open port on groups drawn at random, and make each finding minimal.

    `progress` is called with the number of groups tried since the last call.
    """
    result = Verified(assignor, settings.version)
    causes = Causes(assignor, settings.version)
    found = _search(port, result, causes, settings, progress)
    for each in found.values():
        for cause, count, some in each.by_cause(causes):
            finding = Finding(assignor, some[0], count, cause)
            if not (finding.broken.hung or result.interrupted):
                _minimise(port, settings.version, finding, some, causes)
            result.findings.append(finding)
    result.findings.sort(key=lambda each: each.rank)
    return result


def _search(
    port: AssignorPort,
    result: Verified,
    causes: Causes,
    settings: Settings,
    progress: Callable[[int], None],
) -> Mapping[str, Found]:
    """Try groups that Hypothesis draws; what was found, by the promise that is broken."""
    found: dict[str, Found] = defaultdict(Found)
    hangs, failures_s = 0, 0.0

    @hypothesis.seed(settings.seed)
    @hypothesis.settings(
        max_examples=settings.cases,
        phases=(hypothesis.Phase.generate,),
        database=None,
        deadline=None,
        suppress_health_check=tuple(hypothesis.HealthCheck),
    )
    @hypothesis.given(groups(result.assignor, racks=settings.racks))
    def try_each(group: Group) -> None:
        nonlocal hangs, failures_s
        if result.stopped:
            return
        since = monotonic()
        trial = try_group(port, result.assignor, settings.version, group)
        result.tried += 1
        progress(1)
        causes.contradict(trial)
        if trial.broken is not None:
            found[trial.broken.promise.id].add(causes.of(trial), trial)
            hangs += trial.broken.hung
            failures_s += (monotonic() - since) * (trial.broken.promise == ANSWERS)
            result.stopped = _why_stop(hangs, failures_s)

    try:
        try_each()
        if result.tried == settings.cases:
            result.stopped = ""
    except KeyboardInterrupt:
        result.interrupted, result.stopped = True, "interrupted"
    return found


def _why_stop(hangs: int, failures_s: float) -> str:
    """Why the port is not asked again; "" if it is."""
    if hangs >= MOST_HANGS:
        return f"the port hung {hangs} times"
    return f"answers that failed took {failures_s:.0f} s" if failures_s > FAILURES_S else ""


def verify_case(port: AssignorPort, version: str, case: Case) -> Verified:
    """Try an assignor on one group; a few times, as its answers may vary."""
    causes = Causes(case.assignor, version)
    result = Verified(case.assignor, version, tried=1)
    for _ in range(CHANCES):
        trial = try_group(port, case.assignor, version, case.group)
        if trial.broken is not None:
            possible = causes.of(trial)
            known = case.cause if case.cause in possible else ""
            kind = "" if trial.broken.promise.id == "as-kafka" else causes.simplest(possible)
            result.findings = [Finding(case.assignor, trial, 1, known or kind)]
            break
    return result


def _minimise(
    port: AssignorPort, version: str, finding: Finding, some: list[Trial], causes: Causes
) -> None:
    """Make groups of a finding minimal, until that has taken as long as one may wait."""
    until = monotonic() + MINIMISING_S
    found: dict[Group, Trial] = {}
    for trial in some:
        if not found or monotonic() < until:
            least = minimal(port, version, replace(finding, trial=trial), causes, until)
            found.setdefault(named_in_order(least.group), least)
    finding.trial, *others = sorted(found.values(), key=lambda each: size(each.group))
    finding.others = tuple(others[:OTHERS])
    finding.minimal = True


def minimal(
    port: AssignorPort, version: str, finding: Finding, causes: Causes, until: float
) -> Trial:
    """A group that breaks a promise for the same cause, and none with one thing less does."""
    best = finding.trial
    left = smaller(best.group)
    while monotonic() < until and (group := next(left, None)) is not None:
        if not is_possible(finding.assignor, group):
            continue
        trial = try_group(port, finding.assignor, version, group)
        if (
            trial.broken is not None
            and trial.broken.promise == finding.broken.promise
            and causes.may_be(finding.cause, trial)
        ):
            best = trial
            left = smaller(group)
    return best
