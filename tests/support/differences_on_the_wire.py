"""A short sequence for each difference between profiles that is visible over the wire.

They are data: requests, and time that passes. A test checks on the model that the two profiles
answer differently; bench/known_sequences.py runs them on brokers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.config import Config
from groupcheck.model.classic.instances.inputs import (
    GROUP_ID,
    INSTANCE,
    NO_INSTANCE,
    OTHER_PROTOCOLS,
    OTHER_TOPIC,
    PRODUCER_ID,
    TOPIC,
    commit,
    fetch,
    txn_commit,
)
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Advance, Coordinator, Log
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import Request, RequestBody, ResponseBody
from support import requests

INITIAL_DELAY: Final = "group.initial.rebalance.delay.ms"
SIZE: Final = "group.max.size"

# No sequence waits for these; 6 s is the shortest session that brokers allow by default.
LONG_MS, SHORT_MS, REBALANCE_MS = 60_000, 6_000, 2_000
DELAY: Final = Advance(0)  # represents the initial delay of the broker, which is mostly 0


class Asked(NamedTuple):
    """A request, in the given version or the newest of the profile if that is older."""

    api_version: int
    body: RequestBody


Step = Asked | Advance


class Shown(NamedTuple):
    """A sequence that two profiles answer differently; `needs` are settings of the broker."""

    difference: str
    older: str
    newer: str
    steps: tuple[Step, ...]
    needs: Mapping[str, int] = {INITIAL_DELAY: 0}

    def on(self, profile: str, delay_ms: int) -> tuple[Input, ...]:
        """The steps for a broker of a profile; request ids are step numbers."""
        newest = PROFILES[profile].max_versions
        found: list[Input] = []
        for number, step in enumerate(self.steps, 1):
            if isinstance(step, Advance):
                found.append(Advance(delay_ms) if step is DELAY else step)
                continue
            request = Request(number, step.api_version, step.body)
            version = min(step.api_version, newest[request.api])
            body = trim(step.body, version)
            found.append(request._replace(api_version=version, body=body))
        return tuple(found)


def join(member_id: str = "", version: int = 1, **changed: Any) -> Asked:
    timeouts = {"session_ms": LONG_MS, "rebalance_ms": LONG_MS}
    return Asked(version, requests.join(member_id, **{**timeouts, **changed}))


def sync(member_id: str, generation_id: int = 1) -> Asked:
    return Asked(0, requests.sync(member_id, generation_id))


def heartbeat(member_id: str, generation_id: int = 1, instance: str | None = None) -> Asked:
    return Asked(3 if instance else 0, requests.heartbeat(member_id, generation_id, instance))


def leave(*member_ids: str) -> Asked:
    return Asked(3 if len(member_ids) > 1 else 0, requests.leave(*member_ids))


def describe(version: int = 0) -> Asked:
    return Asked(version, kafka.DescribeGroupsRequest((GROUP_ID,)))


REJECTED_BESIDE_STORED: Final = Asked(
    2, requests.commit_of({(TOPIC, 0): (5, -1, "x" * 5_000), (OTHER_TOPIC, 0): 5})
)
STATIC: Final[Mapping[str, Any]] = {"version": 7, "instance": INSTANCE}
OLDEST, OLD, NEW = "0.10.2", "2.7", "4.1"
ALONE: Final = (join(version=2), DELAY, sync("#1"))  # a member, Stable
UNSTABLE: Final = fetch(require_stable=True)
STABLE: Final = fetch(require_stable=False)
MARKER: Final = kafka.EndTxnRequest(GROUP_ID, PRODUCER_ID, committed=True)

SHOWN: Final = (
    Shown("first member without protocols", OLDEST, OLD, (join(protocols=()),)),
    Shown("generation of a rejected join", OLDEST, OLD, (join("nobody"),)),
    Shown("member id before the join", OLDEST, OLD, (join(version=4), DELAY)),
    Shown("initial delay", OLDEST, OLD, (join(),), {INITIAL_DELAY: 3_000}),
    Shown(
        "initial delay",
        OLD,
        NEW,
        (join(version=2), DELAY, leave("#1"), join(version=2), join(version=2), DELAY, describe()),
        {INITIAL_DELAY: 3_000},
    ),
    Shown(
        "maximum size",
        OLDEST,
        OLD,
        (join(version=3), DELAY, sync("#1"), join(version=3)),
        {INITIAL_DELAY: 0, SIZE: 1},
    ),
    Shown("heartbeat before the assignments", OLDEST, OLD, (join(), DELAY, heartbeat("#1"))),
    Shown("generation of an early heartbeat", OLDEST, OLD, (join(), DELAY, heartbeat("#1", 7))),
    Shown(
        "commit before the assignments", OLDEST, OLD, (join(), DELAY, Asked(2, commit(1, "nobody")))
    ),
    Shown(
        "parked join of a member that leaves",
        OLDEST,
        OLD,
        (join(), DELAY, join(), join("#1"), join("#1", protocols=OTHER_PROTOCOLS), leave("#1")),
    ),
    Shown(
        "static members",
        OLD,
        NEW,
        (join(**STATIC), DELAY, sync("#1"), join(**{**STATIC, "version": 9})),
    ),
    Shown(
        "timeouts of a member that rejoins",
        OLD,
        NEW,
        (
            *ALONE,
            join("#1", version=2, session_ms=SHORT_MS),
            sync("#1", 2),
            Advance(SHORT_MS),
            describe(),
        ),
    ),
    Shown("unregistered instance id", OLD, NEW, (*ALONE, heartbeat("#1", 1, NO_INSTANCE))),
    Shown("commit to no group", OLD, NEW, (Asked(9, commit(1, "nobody")),)),
    Shown(
        "batch leave",
        OLD,
        NEW,
        (
            join(version=2),
            DELAY,
            join(version=2),
            join("#1", version=2),
            sync("#3", 2),
            leave("#1", "#3"),
        ),
    ),
    Shown(
        "time to sync",
        OLD,
        NEW,
        (join(version=2, rebalance_ms=REBALANCE_MS), DELAY, Advance(REBALANCE_MS), describe()),
    ),
    Shown(
        "sync in Stable",
        OLD,
        NEW,
        (
            join(version=2, session_ms=SHORT_MS),
            DELAY,
            sync("#1"),
            Advance(SHORT_MS // 2),
            sync("#1"),
            Advance(SHORT_MS // 2),
            describe(),
        ),
    ),
    Shown(
        "transactional commit of a known member without generation",
        OLD,
        NEW,
        (*ALONE, Asked(3, txn_commit(-1, "#1")), Asked(0, MARKER), Asked(1, STABLE)),
    ),
    Shown("stable offsets", OLD, NEW, (REJECTED_BESIDE_STORED, Asked(7, UNSTABLE))),
    Shown("metadata too long", OLD, NEW, (REJECTED_BESIDE_STORED, Asked(7, UNSTABLE))),
    Shown("describe", OLD, NEW, (describe(6),)),
    Shown("describe", OLD, NEW, (*ALONE, join(version=2), describe())),
    Shown(
        "list", OLD, NEW, (Asked(2, commit(-1, "")), Asked(4, kafka.ListGroupsRequest(("empty",))))
    ),
    Shown(
        "static member that does not rejoin",
        OLD,
        NEW,
        (
            join(rebalance_ms=REBALANCE_MS, **STATIC),
            DELAY,
            sync("#1"),
            join(version=7, instance="another", rebalance_ms=REBALANCE_MS),
            Advance(REBALANCE_MS),
            sync("#4", 2),
            Advance(REBALANCE_MS),
            describe(),
        ),
    ),
)

# Why the other differences are not visible over the wire.
FAILOVER = "needs a partition that is lost, loaded or shut down"
LOG = "needs appends that fail or wait"
NOT_SHOWN: Final[Mapping[str, str]] = {
    "order of the first checks": FAILOVER,
    "loading": FAILOVER,
    "group that does not exist": "is between 0.10.0 and the later ones",
    "append that times out": LOG,
    "offset expiry": "needs the retention of offsets, a minute at the least, to pass",
    "tombstone of an empty group": "shows in the log alone",
    "static member whose new id cannot be stored": LOG,
    "record of a new group": "shows in the log alone",
    "held appends": LOG,
    "static member that rejoins twice": LOG,
    "load of a group without offsets": FAILOVER,
}


def answers(shown: Shown, profile: str) -> dict[int, ResponseBody]:
    """The model's answers, by step; there must be only one outcome."""
    rules, said = PROFILES[profile], dict(shown.needs)
    delay_ms = said.get(INITIAL_DELAY, 0)
    settings: dict[str, Any] = {name.replace(".", "_"): value for name, value in said.items()}
    config: Config = rules.config._replace(**settings)
    state = Coordinator(log=Log())
    found: dict[int, ResponseBody] = {}
    for given in shown.on(profile, delay_ms):
        outcomes = successors(state, given, rules, config)
        state = outcomes[0].coordinator
        found |= {response.request_id: response.body for response in outcomes[0].responses}
    return found
