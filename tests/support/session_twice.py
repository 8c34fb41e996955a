"""Whether a session that starts twice in one millisecond explains a finding of Kafka 0.10.

Each request of a member restarts its session and cancels the previous timer, unless that one
started in the same millisecond: then both run (`shouldKeepMemberAlive` asks for a later one). When
the second one fires, Kafka does not check whether the member still exists
(`GroupCoordinator.scala:737`).
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Coordinator
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.oracle import DivergedError, Oracle
from groupcheck.properties.tolerances import Tolerances


def explains(finding: Finding, tolerances: Tolerances) -> bool:
    """Whether Kafka allows all observations if any session can have a second timer like its own."""
    sequence = finding.sequence
    if finding.failure is not None:
        return False
    oracle = Oracle(PROFILES[sequence.profile], sequence.broker, tolerances)
    for given, seen in finding.exchanges:
        before = oracle.states
        oracle.states = [*before, *(each for state in before for each in _doubled(state))]
        try:
            oracle.follow(given, seen)
        except DivergedError:
            return False
        left = dict(pair for state in before for pair in _sessions(state))
        oracle.states = [
            state for state in oracle.states if not _has_both(state, left, seen.elapsed_ms)
        ]
    return True


def _sessions(state: Coordinator) -> Iterator[tuple[str, int]]:
    for member in state.group.members if state.group else ():
        if member.session_left_ms is not None:
            yield member.member_id, member.session_left_ms


def _doubled(state: Coordinator) -> Iterator[Coordinator]:
    """The state with another timer for one of the sessions."""
    group = state.group
    for _, left_ms in _sessions(state):
        assert group is not None
        yield state._replace(
            group=group._replace(orphaned_timers=tuple(sorted((*group.orphaned_timers, left_ms))))
        )


def _has_both(state: Coordinator, left: dict[str, int], elapsed_ms: int) -> bool:
    """Whether a second timer of an existing member has not fired.

    It will not fire if the member sends a request; otherwise it is added again.
    """
    group = state.group
    if group is None:
        return False
    there = (left[m.member_id] - elapsed_ms for m in group.members if m.member_id in left)
    return not set(group.orphaned_timers).isdisjoint(there)
