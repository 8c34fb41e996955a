"""The log events of a step of the model: what a broker prints, in order.

Kafka logs where it acts, so each message belongs to a rule. The rules that a step applies, in their
order, give the messages, with the state and the generation of the group at each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from groupcheck.model.exploring.projection import (
    ABSENT,
    CONSEQUENCES,
    DEAD,
    ENDS,
    LOADED,
    MAKES,
    state_of,
)
from groupcheck.model.rules.rebalance import first_state
from groupcheck.model.state import Coordinator
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import JoinGroupRequest, Request
from groupcheck.pipeline.subset_construction import SAME, Count

# The rules that begin a generation.
COUNTS: Final = frozenset(
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
    "rebalance/nobody-rejoined": "none rejoined",
    NEW: "joined",
    "join/static-unchanged": "back",
    "join/static-changed": "back",
    "join/static-completing": "back",
    "join/static-preparing": "back",
    "join/static-restarted": "back",
    "group/deleted": "deleted",
}
# What each version logs when a rule is applied.
PRINTS: Final[Mapping[str, Mapping[str, str]]] = {
    "0.10.0": _ALWAYS,
    "0.10.2": {**_ALWAYS, "cleanup/group-gone": "dead"},
    "2.7": {
        **_SINCE_2_2,
        "join/static-gone": "back",
        "cleanup/group-gone": "dead",
    },
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
            ("time/syncs-expired", "time/lost-sync-expired"),
        ),
    )
)


def rules_of(reason: str) -> frozenset[str] | None:
    """The rules that a logged reason may stand for; None if the reason is not known."""
    return next((rules for pattern, rules in REASONS if pattern.match(reason)), None)


class LogEvent(NamedTuple):
    """An automaton symbol: what happened, the state of the group then, and the rule."""

    what: str
    state: str
    why: str


RESTARTED: Final = Count(restarts=True)
LOADED_ONE: Final = Count(unknown=True)  # the generation is that of the loaded record


def printed(
    profile: Profile, before: Coordinator, given: Input, fired: tuple[str, ...]
) -> Iterator[tuple[LogEvent | None, Count]]:
    """The log events of a step, each with what happens to the generation before it; last None."""
    prints = PRINTS[profile.name]
    at: str = state_of(before)
    count, why = SAME, fired[0]
    for rule in fired:
        what = prints.get(rule)
        if at == ABSENT and (what in _BEGIN or rule in MAKES):
            at, count = first_state(profile.version), count.then(RESTARTED)
        was, at = at, _led_to(rule, at)
        count = count.then(_counted(rule))
        if what is not None and (what != "unloading" or was != ABSENT):
            reason = why if rule in CONSEQUENCES else rule
            yield LogEvent(what, at if what in _AFTER else was, reason), count
            count = SAME
            if rule == NEW and profile.name == "2.7" and _is_static(given):
                yield LogEvent("enlisted", at, rule), SAME
        if at in {ABSENT, DEAD}:
            count = count.then(RESTARTED)
        if rule not in CONSEQUENCES or rule == "log/assignments-failed":
            why = rule
    yield None, count


def _led_to(rule: str, at: str) -> str:
    """The state of the group after a rule."""
    if rule in ENDS:
        return ABSENT
    made = LOADED.get(rule) or MAKES.get(rule)
    return made.target if made else at


def _counted(rule: str) -> Count:
    """What a rule does to the generation."""
    if rule in LOADED:
        return LOADED_ONE
    return Count(grows=1) if rule in COUNTS else SAME


# Messages that are logged after the change of state.
_AFTER: Final = frozenset({"preparing", "stabilized", "empty", "loaded"})
# Messages that are logged after the group is created.
_BEGIN: Final = frozenset({"joined", "given id"})


def _is_static(given: Input) -> bool:
    body = given.body if isinstance(given, Request) else None
    return isinstance(body, JoinGroupRequest) and body.group_instance_id is not None
