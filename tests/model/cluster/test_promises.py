"""What Kafka promises of a cluster, and where its rules break a promise."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import pytest

from groupcheck.model.brokers import (
    CLAIM,
    HANDLE,
    MOVE,
    NOBODY,
    START,
    Assignment,
    ClusterInput,
)
from groupcheck.model.cluster import promises
from groupcheck.model.cluster.sources import OLDER
from groupcheck.model.cluster.specification import MOVED, RULES, VERSIONS, Brokers, instances
from groupcheck.model.cluster.state import Cluster, Role, Settings
from groupcheck.model.cluster.step import ClusterStep, existing
from groupcheck.model.engine.checking import Violation, violations
from groupcheck.model.engine.exploration import StateSpace, explore
from groupcheck.model.engine.rules import Effect, Version, VersionRule
from groupcheck.model.engine.specification import Property
from support.economy import exhaustive_if

# The promises that Kafka breaks in an instance; docs/cluster.md explains each.
BROKEN: Final = {
    "election-2": [promises.CONTROLLER],
    "election-3": [promises.CONTROLLER],
    "isr": [promises.CONTROLLER, promises.LEADERS],
    "fencing": [promises.CONTROLLER, promises.LEADERS],
    "unclean": [promises.CLEAN],
    "offsets": [promises.NO_OFFSET, promises.METADATA],
    "isr-2.4": [promises.CONTROLLER, promises.LEADERS],
    "offsets-2.4": [promises.NO_OFFSET, promises.METADATA],
    "reassignment": [promises.LEADERS, promises.REMOVED],
    "reassignment-cancel": [promises.DELETION_WAITS, promises.REMOVED],
    "reassignment-deletion": [promises.DELETION_WAITS],
    "reassignment-2.4": [promises.LEADERS, promises.REMOVED],
    "reassignment-cancel-2.4": [promises.DELETION_WAITS],
    "reassignment-deletion-2.4": [promises.DELETION_WAITS],
}
SMALL: Final = (
    *("election-2", "leaders-3", "unclean", "creation", "groups"),
    *("reassignment-3", "reassignment-cancel", "reassignment-deletion"),
    *("reassignment-3-2.4", "reassignment-cancel-2.4", "reassignment-deletion-2.4"),
)


@cache
def _explored(name: str) -> StateSpace:
    return explore(instances()[name])


@pytest.mark.parametrize("name", exhaustive_if(lambda name: name not in SMALL, instances()))
def test_each_promise_holds_but_those_that_are_known_to_be_broken(name: str) -> None:
    space = _explored(name)
    checked = promises.promises(space.instance.settings)
    assert [each.property for each in violations(space, checked)] == BROKEN.get(name, [])


@pytest.mark.exhaustive
def test_every_rule_is_applied_in_an_instance() -> None:
    applied: set[str] = set()
    for name in instances():
        if name not in {"fencing", "isr-2.4"}:
            applied |= _explored(name).applied.keys()
    known = {rule for version in VERSIONS.values() for rule in version.rules}
    assert known - applied == RARE


# Rules that need more faults than these instances have; the walks that compare the implementation
# apply them.
RARE: Final = {
    "alter-isr/desired",
    "alter-isr/version",
    "coordinator/already-loading",
    "deletion/unknown-replica",
    "election/failed",
    "environment/commit",
    "event/preferred-leader-ignored",
    "event/reassignment-ignored",
    "offsets/forgotten",
    "partition/exists",
    "partition/node-is-gone",
    "reassignment/no-topic",
    "reassignment/node-is-gone",
    "reassignment/node-is-newer",
    "reassignment/without-leader",
    "replica/node-is-gone",
    "replica/session-ended",
    "replica/stuck",
}


def _inputs(violation: Violation, space: StateSpace) -> list[str]:
    return [str(space.edges[each.node][each.edge].given) for each in violation.path]


def test_no_controller_is_left_if_the_node_is_deleted_before_the_election_is_noticed() -> None:
    space = _explored("election-2")
    (found,) = violations(space, [promises.CONTROLLER])
    last = space.nodes[space.edges[found.path[-1].node][found.path[-1].edge].target]
    assert last.nodes.controller == NOBODY
    assert all(broker.running and not broker.queue for broker in last.brokers)


def test_one_broker_without_another_one_is_not_elected_again() -> None:
    alone = Brokers(Settings(brokers=1, running=False, moves=True))
    state = alone.initial
    for given in (START, HANDLE, CLAIM, MOVE, HANDLE):
        broker = 0 if given == MOVE else 1
        (outcome,) = alone.successors(state, ClusterInput(given, broker))
        state = outcome.state
    assert not list(_going_on(alone, state))
    assert state.nodes.controller == NOBODY


def _going_on(instance: Brokers, state: Cluster) -> list[ClusterInput]:
    return [given for given in instance.inputs(state) if given.name in (HANDLE, CLAIM, START)]


# Seeded faults: a change of one rule, and the promise that it breaks in an instance.


def _edited(
    rule: str, change: Callable[[VersionRule], VersionRule | None], of: Version = RULES
) -> Version:
    tables = {
        name: tuple(
            changed
            for each in rules
            if (changed := change(each) if each.id == rule else each) is not None
        )
        for name, rules in of.tables.items()
    }
    assert tables != of.tables
    return of._replace(tables=tables)


def _without(rule: str, of: Version = RULES) -> Version:
    return _edited(rule, lambda _: None, of)


def _without_guards(rule: str) -> Version:
    return _edited(rule, lambda each: each._replace(guards=()))


def _and_then(rule: str, change: Callable[[ClusterStep, Any], object]) -> Version:
    added = Effect("", change)
    return _edited(rule, lambda each: each._replace(effects=(*each.effects, added)))


def _instead(rule: str) -> Version:
    return _edited(rule, lambda each: each._replace(effects=()))


def _repeat_epoch(step: ClusterStep, about: Any) -> None:
    """Keep the leader epoch."""
    node = existing(step.state.nodes.partitions[about.topic])
    step.node_at("partitions", about.topic, node._replace(leader_epoch=node.leader_epoch - 1))


def _empty_isr(step: ClusterStep, about: Any) -> None:
    node = existing(step.state.nodes.partitions[about.topic])
    step.node_at("partitions", about.topic, node._replace(leader=-1, isr=()))


def _keep_leader(step: ClusterStep, about: Any) -> None:
    node = existing(step.state.nodes.partitions[about.topic])
    step.node_at("partitions", about.topic, node._replace(leader=about.broker))


def _reset_epoch(step: ClusterStep, _given: object) -> None:
    step.node(controller_epoch=0)


def _lead_too(step: ClusterStep, about: Any) -> None:
    replica = step.replica(about.topic)
    step.set_replica(about.topic, replica._replace(role=Role.LEADER))


def _lead_unclean(step: ClusterStep, about: Any) -> None:
    node = existing(step.state.nodes.partitions[about.topic])
    live = [each for each in step.topic(about.topic).assigned if step.is_live(each)]
    if live:
        changed = node._replace(leader=live[0], leader_epoch=node.leader_epoch + 1)
        step.node_at("partitions", about.topic, changed)


def _assign_to_none(step: ClusterStep, about: Any) -> None:
    step.node_at("assignments", about.topic, Assignment())


def _keep_removed(step: ClusterStep, about: Any) -> None:
    """A replica that has been removed stays in the ISR."""
    node = existing(step.state.nodes.partitions[about.topic])
    step.node_at("partitions", about.topic, node._replace(isr=(*node.isr, 1)))


def _leave_partition(step: ClusterStep, about: Any) -> None:
    partitions = instances()["deletion"].initial.nodes.partitions
    step.node_at("partitions", about.topic, partitions[about.topic])


OF: Final = {name: instance.settings for name, instance in instances().items()}
STALE: Final = OF["fencing"]._replace(faults=2)

SEEDED: Final[list[tuple[Property, Settings, Version]]] = [
    (promises.ONE_CONTROLLER, OF["election-2"], _without_guards("election/won")),
    (promises.LEADER_IN_ISR, OF["leaders"], _and_then("replica/leaves-isr", _keep_leader)),
    (promises.NO_EMPTY_ISR, OF["leaders"], _and_then("replica/leaves-isr", _empty_isr)),
    (promises.ONE_LEADER, OF["creation"], _and_then("leader-and-isr/follower", _lead_too)),
    (promises.NOTHING_LEFT, OF["deletion"], _and_then("deletion/complete", _leave_partition)),
    (promises.EPOCHS_GROW, OF["election-2"], _and_then("election/resign", _reset_epoch)),
    (promises.LEADER_EPOCHS_GROW, OF["leaders"], _and_then("partition/leader", _repeat_epoch)),
    (promises.FENCED, STALE, _without("write/fenced")),
    (promises.FENCED_REQUESTS, OF["deletion-moves"], _without("request/stale-controller")),
    (promises.CLEAN, OF["leaders"], _and_then("partition/no-leader", _lead_unclean)),
    (promises.CONTROLLER, OF["leaders"], _instead("election/read")),
    (promises.LEADERS, OF["leaders"], _without("partition/leader")),
    (promises.DELETED, OF["deletion"], _without("deletion/resume")),
    (promises.COORDINATOR, OF["groups"], _without("coordinator/elected")),
    (promises.NO_OFFSET, OF["offsets"], _without("offsets/deleted")),
    (promises.METADATA, OF["offsets"]._replace(faults=0), _instead("update-metadata/deleted")),
    (promises.ASSIGNED, MOVED, _and_then("reassignment/completed", _keep_removed)),
    (promises.HAS_REPLICA, MOVED, _and_then("reassignment/completed", _assign_to_none)),
    (promises.DELETION_WAITS, MOVED._replace(requests=2), _without("deletion/halt")),
    (promises.REASSIGNED, MOVED, _without("reassignment/caught-up")),
    (
        promises.REASSIGNED,
        MOVED._replace(version=OLDER),
        _without("event/reassigned-isr-change", VERSIONS[OLDER]),
    ),
    (promises.REMOVED, MOVED, _without("replica/deletion-started")),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("promise", "settings", "rules"), SEEDED, ids=[each[0].words for each in SEEDED]
)
def test_a_seeded_fault_breaks_each_promise(
    promise: Property, settings: Settings, rules: Version
) -> None:
    space = explore(Brokers(settings, rules), most_states=60_000)
    assert [each.property for each in violations(space, [promise])] == [promise]


def test_every_promise_has_a_seeded_fault() -> None:
    everything = {each for i in instances().values() for each in promises.promises(i.settings)}
    assert everything == {promise for promise, _, _ in SEEDED}
