"""Walks of the built-in coordinator as rows of a recording, whole, cut off in front or with a gap.

Everything happens in them that a recording can tell, and much that no client does: all features of
the version, appends that are held, ids of others. In between clients do what they should, so that
rebalances come to an end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any, Final, NamedTuple

from groupcheck.model.bodies import encode
from groupcheck.model.exploring.canonical import rename
from groupcheck.model.instances.inputs import GROUP_ID, faults
from groupcheck.model.instances.instance import Instance
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Advance, Cleanup, Coordinator, HoldAppends, ReleaseAppends
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import GroupState, Request
from groupcheck.properties.findings.finding import Exchange
from groupcheck.properties.histories.events import Event
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.run import Run, UnfairError
from support.fuzzing import distinct, everything

HAPPENED: Final = (HoldAppends, ReleaseAppends, Cleanup)
IN_STABLE: Final = {"Heartbeat", "OffsetCommit", "SyncGroup", "DescribeGroups", "JoinGroup"}


class Walked(NamedTuple):
    """What was done and answered, with the ids that were revealed; the rows are made of that."""

    profile: str
    broker: dict[str, int]
    exchanges: list[Exchange]
    names: dict[str, str]  # the revealed ids, by their symbols

    def rows(self, begin: int = 0, gap: range = range(0)) -> list[Event]:
        """The rows from that exchange on, without those in the gap."""
        header: dict[str, Any] = {"trace": 1, "profile": self.profile, "config": self.broker}
        if begin:
            header["before"] = True
        rows: list[Event] = []
        _add(rows, 0, "open", body=header)
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
                rows.append(rows[-1]._replace(seq=len(rows) + 1, kind="gap", body="a line"))
            _given(rows, now_ms, given, self.names)
            for answer in seen.responses:
                _add(rows, now_ms, "response", asked[answer.request_id], answer.body)
        return rows


def walk(profile: str, seed: int, steps: int) -> Walked:
    """A walk of so many steps."""
    pick = Random(seed)
    instance = pick.choice(everything(PROFILES[profile], pick.choice((1, 2, 3))))
    run = Run(BuiltinPort(seed), instance.profile, instance.broker)
    for number in range(1, steps + 1):
        given = _next(instance, pick.choice(run.oracle.states), pick, number)
        with suppress(UnfairError):
            run.step(given)
    names = {symbol: member_id for member_id, symbol in run.oracle.names.items()}
    return Walked(profile, run.broker, run.exchanges, names)


def _next(instance: Instance, state: Coordinator, pick: Random, number: int) -> Input:
    frame, chance = instance.canonical(state), pick.random()
    happens = [
        given
        for given in faults(frame.node, instance.features, instance.profile)
        if isinstance(given, HAPPENED)
    ]
    if chance < 0.15 or (chance < 0.25 and not happens):
        return Advance(pick.choice((instance.tick_ms, instance.tick_ms // 3, 1, 1, 1)))
    if chance < 0.25:
        return pick.choice(happens)
    # (A recording tells groups apart by their names.)
    named = [
        given
        for given in instance.inputs(frame.node)
        if isinstance(given, Request) and _names_it(given.body)
    ]
    wanted = [*_wanted(named, frame.node)] if pick.random() < 0.7 else []
    return distinct(frame.restore(pick.choice(wanted or named), number))


def _names_it(body: Any) -> bool:
    return not hasattr(body, "group_id") or body.group_id == GROUP_ID


def _wanted(options: list[Request], state: Coordinator) -> Iterator[Request]:
    """The requests by which a group gets on, or is at rest."""
    group = state.group
    if group is None:
        return
    late = {m.member_id for m in group.members if m.awaiting_join is None}
    late |= {p.member_id for p in group.pending}
    unsynced = {m.member_id for m in group.members if m.awaiting_sync is None}
    members = {"", *(m.member_id for m in group.members)}
    for given in options:
        who = getattr(given.body, "member_id", "")
        match group.state:
            case GroupState.PREPARING_REBALANCE if given.api == "JoinGroup" and who in late:
                yield given
            case GroupState.COMPLETING_REBALANCE if given.api == "SyncGroup" and who in unsynced:
                yield given
            case GroupState.STABLE if given.api in IN_STABLE and who in members:
                yield given


def _given(rows: list[Event], now_ms: int, given: Input, names: dict[str, str]) -> None:
    match given:
        case Request():
            _add(rows, now_ms, "request", given, rename(given.body, names, 0))
        case HoldAppends():
            _add(rows, now_ms, "hold")
        case ReleaseAppends():
            _add(rows, now_ms, "release")
        case Cleanup():
            _add(rows, now_ms, "fault", body={"type": "fault", "fault": "cleanup"})


def _add(
    rows: list[Event], now_ms: int, kind: str, request: Request | None = None, body: Any = None
) -> None:
    number = len(rows) + 1
    row = Event(
        GROUP_ID, "file", 1, number, number, now_ms, kind, None, None, None, None, None, None
    )
    if request is not None:
        version = request.api_version
        text = json.dumps(encode(body, version), separators=(",", ":"))
        row = row._replace(request_id=request.request_id, api=request.api, api_version=version)
        row = row._replace(body=text)
        if kind == "request":
            row = row._replace(client_id=request.client_id, client_host=request.client_host)
    elif body is not None:
        row = row._replace(body=json.dumps(body))
    rows.append(row)
