"""Partitions that are loaded and unloaded, and crashes, with several groups and partitions."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.implementation import PROFILE_2_7, PROFILE_4_1, Config, Coordinator
from groupcheck.implementation.core.groups import Serving, partition_for
from groupcheck.implementation.core.profiles import Behaviour
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.model.classic.instances.inputs import GROUP_ID, PRODUCER_ID
from groupcheck.model.vocabulary import EndTxnRequest, ErrorCode, Request
from support.coordinators import BuiltinBroker, stable
from support.requests import commit_of

LOADED = partition_for(GROUP_ID, 50)


def states(broker: BuiltinBroker) -> dict[str, str]:
    return {view.group_id: str(view.state) for view in broker.coordinator.views()}


def test_unload_affects_only_the_groups_of_the_partition() -> None:
    broker = stable(1)
    other = next(name for name in map(str, range(9)) if partition_for(name, 50) != LOADED)
    broker.commit(group_id=other)
    broker.keep(broker.coordinator.unload(LOADED))
    assert states(broker) == {other: "Empty"}
    assert broker.coordinator.serving(LOADED) is Serving.UNLOADED
    assert broker.heartbeat("m1") == ErrorCode.NOT_COORDINATOR
    assert broker.listed()
    broker.keep(broker.coordinator.load(LOADED))
    assert states(broker) == {other: "Empty", GROUP_ID: "Stable"}
    assert broker.heartbeat("m1") == ErrorCode.NONE


@pytest.mark.parametrize("profile", [PROFILE_2_7, PROFILE_4_1], ids=lambda p: p.name)
def test_marker_ends_the_transaction_in_every_group_of_its_partition_only(
    profile: Behaviour,
) -> None:
    broker = BuiltinBroker(Config(offsets_topic_num_partitions=2), profile=profile)
    names = [str(number) for number in range(6)]
    for name in names:
        broker.txn_commit(group_id=name)
    broker.send(EndTxnRequest(names[0], PRODUCER_ID, committed=True))
    ended = [name for name in names if broker.fetch(group_id=name)]
    assert ended == [n for n in names if partition_for(n, 2) == partition_for(names[0], 2)]
    assert 0 < len(ended) < len(names)


def test_coordinator_loads_the_given_partitions_at_the_start() -> None:
    log = MemoryLog()
    options: dict[str, Any] = {"log": log}
    first = Coordinator(**options)
    first.receive(Request(1, 7, commit_of({("t", 0): 5})))
    second = Coordinator(**options, served=[0])
    assert second.views() == ()
    second.load(LOADED)
    assert [view.group_id for view in second.views()] == [GROUP_ID]
