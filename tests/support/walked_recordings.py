"""Walks of the built-in coordinator as rows of a recording, complete, truncated or with a gap.

They have every kind of event, also requests that no client sends: all features of the version, held
appends, other members' ids. Most requests are those that complete rebalances.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any, Final, NamedTuple

from groupcheck.model.classic.exploring.canonical import rename
from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import (
    Advance,
    Cleanup,
    Coordinator,
    HoldAppends,
    ReleaseAppends,
)
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import GroupState, Request
from groupcheck.properties.findings.finding import Exchange
from groupcheck.properties.histories.events import Event
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.run import Run, UnfairError
from support.production import Happened
from support.replayed import as_events
from support.walks import everything, random_input

RECORDED: Final = (HoldAppends, ReleaseAppends, Cleanup)
IN_STABLE: Final = {"Heartbeat", "OffsetCommit", "SyncGroup", "DescribeGroups", "JoinGroup"}


class Walked(NamedTuple):
    """The steps and the responses, with the ids that were revealed."""

    profile: str
    broker: dict[str, int]
    exchanges: list[Exchange]
    names: dict[str, str]  # the revealed ids, by their symbols

    def rows(self, begin: int = 0, gap: range = range(0)) -> list[Event]:
        """The rows from that exchange on, without those in the gap."""
        happened: list[Happened] = []
        asked: dict[int, Request] = {}
        now_ms = 0
        for number, (given, seen) in enumerate(self.exchanges):
            if isinstance(given, Request):
                asked[given.request_id] = given
            if isinstance(given, Advance) and number >= begin:
                now_ms += given.ms
            if number < begin or number in gap:
                continue
            if gap and number == gap.stop:
                happened.append(Happened(now_ms, "gap", body="a line"))
            happened += _given(now_ms, given, self.names)
            for answer in seen.responses:
                request = asked[answer.request_id]
                happened.append(Happened.of(now_ms, "response", request, answer.body))
        before = {"before": True} if begin else {}
        return as_events(happened, self.profile, config=self.broker, **before)


def walk(profile: str, seed: int, steps: int) -> Walked:
    """A walk of a number of steps."""
    pick = Random(seed)
    instance = pick.choice(everything(PROFILES[profile], pick.choice((1, 2, 3))))
    run = Run(BuiltinPort(seed), instance.profile, instance.broker)

    def narrow(options: list[Any], state: Coordinator) -> list[Any]:
        found = [given for given in options if isinstance(given, RECORDED) or _names_it(given)]
        wanted = list(_wanted(found, state)) if pick.random() < 0.7 else []
        return wanted or found

    for number in range(1, steps + 1):
        given = random_input(instance, pick.choice(run.oracle.states), pick, number, narrow)
        with suppress(UnfairError):
            run.step(given)
    names = {symbol: member_id for member_id, symbol in run.oracle.names.items()}
    return Walked(profile, run.broker, run.exchanges, names)


def _names_it(given: Input) -> bool:
    """Whether it is a request about the group: a recording distinguishes groups by their names."""
    return isinstance(given, Request) and getattr(given.body, "group_id", GROUP_ID) == GROUP_ID


def _wanted(options: list[Any], state: Coordinator) -> Iterator[Request]:
    """The requests that complete a rebalance, or that members of a stable group send."""
    group = state.group
    if group is None:
        return
    late = {m.member_id for m in group.members if m.awaiting_join is None}
    late |= {p.member_id for p in group.pending}
    unsynced = {m.member_id for m in group.members if m.awaiting_sync is None}
    members = {"", *(m.member_id for m in group.members)}
    for given in options:
        if not isinstance(given, Request):
            continue
        who = getattr(given.body, "member_id", "")
        match group.state:
            case GroupState.PREPARING_REBALANCE if given.api == "JoinGroup" and who in late:
                yield given
            case GroupState.COMPLETING_REBALANCE if given.api == "SyncGroup" and who in unsynced:
                yield given
            case GroupState.STABLE if given.api in IN_STABLE and who in members:
                yield given


def _given(now_ms: int, given: Input, names: dict[str, str]) -> Iterator[Happened]:
    match given:
        case Request():
            yield Happened.of(now_ms, "request", given, rename(given.body, names, 0))
        case HoldAppends():
            yield Happened(now_ms, "hold")
        case ReleaseAppends():
            yield Happened(now_ms, "release")
        case Cleanup():
            yield Happened(now_ms, "fault", body='{"type": "fault", "fault": "cleanup"}')
