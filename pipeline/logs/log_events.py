"""The log events of a step of the model: the lines that a broker prints, in order.

Each message belongs to a rule. The rules that a step applies, in their order, determine the
messages, with the state and the generation of the group at each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from groupcheck.model.classic.exploring.group_graph import (
    ABSENT,
    CONSEQUENCES,
    DEAD,
    ENDS,
    LOADED,
    STATE_CHANGES,
    state_of,
)
from groupcheck.model.classic.rules.rebalance import first_state
from groupcheck.model.classic.state import Coordinator
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import JoinGroupRequest, Request
from groupcheck.pipeline.subset_construction import UNCHANGED, CounterChange

# The rules that begin a generation.
BEGINS_GENERATION: Final = frozenset(
    {"rebalance/complete", "rebalance/complete-empty", "rebalance/no-protocol"}
)
NEW: Final = "join/new-member"
_ALWAYS: Final = {
    "rebalance/prepare-from-empty": "preparing",
    "rebalance/prepare-from-stable": "preparing",
    "rebalance/prepare-from-completing": "preparing",
    "rebalance/complete": "stabilized",
    "rebalance/complete-empty": "empty",
    "sync/leader-completing": "assigned",
    "failover/restored": "loaded",
    "failover/restored-empty": "loaded",
    "failover/unload": "unloading",
    "failover/loading": "unloading",
    "failover/crash": "starting",
    "failover/shutdown": "stopping",
}
_SINCE_2_2: Final = {
    **_ALWAYS,
    "time/session-expired": "failed",
    "time/new-member-expired": "failed",
    "time/pending-expired": "pending failed",
    "leave/member": "left",
    "leave/pending-member": "pending left",
    "rebalance/drop-not-rejoined": "dropped",
    "rebalance/no-member-rejoined": "none rejoined",
    NEW: "joined",
    "join/static-unchanged": "back",
    "join/static-changed": "back",
    "join/static-completing": "back",
    "join/static-preparing": "back",
    "join/static-restarted": "back",
    "group/deleted": "deleted",
}
# The event that each version logs when it applies a rule.
PRINTS: Final[Mapping[str, Mapping[str, str]]] = {
    "0.10.0": _ALWAYS,
    "0.10.2": {**_ALWAYS, "cleanup/group-removed": "dead"},
    "2.7": {**_SINCE_2_2, "join/static-removed": "back", "cleanup/group-removed": "dead"},
    "4.1": {
        **_SINCE_2_2,
        "join/member-id-required": "given id",
        "join/pending-member": "pending joined",
        "delete/not-stored": "deleted",
    },
}
# The reasons that are logged for a rebalance, each with the rules that may have begun it.
_EXPIRED: Final = ("time/session-expired", "time/new-member-expired")
REASONS: Final = tuple(
    (re.compile(pattern, re.DOTALL), frozenset(rules))
    for pattern, rules in (
        (r"Adding new member .* with group instance id ", (NEW, "join/pending-member")),
        (r"removing member .* on heartbeat expiration", _EXPIRED),
        (r"removing member .* on LeaveGroup", ("leave/member",)),
        (
            r"explicit `LeaveGroup` request for ",
            ("leave/member", "leave/pending-member", "leave/together"),
        ),
        (r"[Ll]eader .* re-joining group during ", ("join/leader-stable",)),
        (r"Updating metadata for member .* during Stable", ("join/changed-stable",)),
        (r"Updating metadata for member .* during ", ("join/changed-completing",)),
        (r"Member .* joining group during ", ("join/rejoin-preparing",)),
        (r"Updating metadata for static member ", ("join/static-completing",)),
        (r"Group's selectedProtocol will change because static member ", ("join/static-changed",)),
        (r"[Ee]rror .*when storing group assignment", ("log/assignments-failed",)),
        (
            r"Removing .* on pending sync request expiration",
            ("time/syncs-expired", "time/replaced-member-sync-expired"),
        ),
    )
)


def rules_of(reason: str) -> frozenset[str] | None:
    """The rules that may log a reason; None if the reason is unknown."""
    return next((rules for pattern, rules in REASONS if pattern.match(reason)), None)


class LogEvent(NamedTuple):
    """A symbol of the automaton: the event, the state of the group in its line, and the rule."""

    name: str
    state: str
    rule: str


RESTARTED: Final = CounterChange(restarts=True)
LOADED_GENERATION: Final = CounterChange(unknown=True)  # that of the loaded record


def printed(
    profile: Profile, before: Coordinator, given: Input, applied: tuple[str, ...]
) -> Iterator[tuple[LogEvent | None, CounterChange]]:
    """The log events of a step, each with the change of the generation before it; last None."""
    prints = PRINTS[profile.name]
    state: str = state_of(before)
    change, cause = UNCHANGED, applied[0]
    for rule in applied:
        name = prints.get(rule)
        if state == ABSENT and (name in _AFTER_CREATION or rule in STATE_CHANGES):
            state, change = first_state(profile.version), change.then(RESTARTED)
        previous, state = state, _state_after(rule, state)
        change = change.then(_generation_change(rule))
        if name is not None and (name != "unloading" or previous != ABSENT):
            logged = state if name in _AFTER_CHANGE else previous
            yield LogEvent(name, logged, cause if rule in CONSEQUENCES else rule), change
            change = UNCHANGED
            if rule == NEW and profile.name == "2.7" and _is_static(given):
                yield LogEvent("enlisted", state, rule), UNCHANGED
        if state in {ABSENT, DEAD}:
            change = change.then(RESTARTED)
        if rule not in CONSEQUENCES or rule == "log/assignments-failed":
            cause = rule
    yield None, change


def _state_after(rule: str, state: str) -> str:
    """The state of the group after a rule."""
    if rule in ENDS:
        return ABSENT
    arrow = LOADED.get(rule) or STATE_CHANGES.get(rule)
    return arrow.target if arrow else state


def _generation_change(rule: str) -> CounterChange:
    """The change of the generation by a rule."""
    if rule in LOADED:
        return LOADED_GENERATION
    return CounterChange(increments=1) if rule in BEGINS_GENERATION else UNCHANGED


# Events that are logged after the change of state.
_AFTER_CHANGE: Final = frozenset({"preparing", "stabilized", "empty", "loaded"})
# Events that are logged after the group is created.
_AFTER_CREATION: Final = frozenset({"joined", "given id"})


def _is_static(given: Input) -> bool:
    body = given.body if isinstance(given, Request) else None
    return isinstance(body, JoinGroupRequest) and body.group_instance_id is not None
