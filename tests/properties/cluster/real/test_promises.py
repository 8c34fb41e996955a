"""Each promise of a cluster, on views that keep it and on views that violate it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from groupcheck.model.brokers import Partition
from groupcheck.properties.cluster.real.promises import (
    ALWAYS,
    EVERY,
    WHEN_SETTLED,
    Violation,
    of_cluster,
    unsettled,
    violations,
)
from groupcheck.properties.cluster.real.views import (
    NO_ANSWER,
    ClusterView,
    Group,
    TopicNode,
    changes,
)

Change = Callable[[ClusterView], ClusterView]


def _state(view: ClusterView, **fields: Any) -> ClusterView:
    """The view with another state of the partition of topic 0."""
    topic = view.topics[0]
    assert topic is not None
    assert topic.partition is not None
    changed = topic._replace(partition=topic.partition._replace(**fields))
    return view._replace(topics=(changed, *view.topics[1:]))


def _answers(view: ClusterView, broker: int, **fields: Any) -> ClusterView:
    """The view with other answers of a broker."""
    answers = list(view.answers)
    found = answers[broker - 1]
    assert found is not None
    answers[broker - 1] = found._replace(**fields)
    return view._replace(answers=tuple(answers))


def _without_broker_3(view: ClusterView) -> ClusterView:
    """The view after broker 3, a replica of the offsets topic only, is killed and expired."""
    offsets = TopicNode(80, (2, 3, 1), Partition(2, 5, (2, 1), 1, 7))
    return view._replace(
        running=(True, True, False),
        registered=(50, 51, 0),
        offsets_topic=offsets,
        answers=(*view.answers[:2], None),
    )


def test_a_settled_view_keeps_every_promise(settled: ClusterView) -> None:
    assert unsettled(settled) == []
    assert violations([settled, settled]) == []


WRONG: list[tuple[str, Change, str]] = [
    (
        "registration",
        lambda view: view._replace(registered=(50, 51, 0)),
        "broker 3 runs and is not registered",
    ),
    (
        "fencing",
        lambda view: view._replace(running=(True, True, False), zookeeper=False),
        "broker 3 does not run and is not fenced",
    ),
    (
        "controller",
        lambda view: view._replace(controller=0, controller_node=0),
        "there is no controller",
    ),
    (
        "replicas",
        lambda view: _state(view._replace(zookeeper=False), leader=-1, isr=()),
        "all replicas of topic 0 work, and it has no leader",
    ),
    (
        "leaders",
        lambda view: _state(view, leader=-1),
        "topic 0 has a replica in its ISR that is registered, and no leader",
    ),
    (
        "leaders",
        lambda view: view._replace(topics=(TopicNode(90, (1, 2), None), None)),
        "topic 0 has replicas that are registered, and no leader",
    ),
    (
        "leaders",
        lambda view: _state(_without_broker_3(view), leader=3, isr=(3, 1)),
        "the leader of topic 0, broker 3, is not registered",
    ),
    (
        "isr",
        lambda view: _state(_without_broker_3(view), isr=(1, 3)),
        "broker 3 is not registered and in the ISR of topic 0",
    ),
    (
        "isr",
        lambda view: _state(view, isr=(1,)),
        "broker 2 works and is not in the ISR of topic 0",
    ),
    (
        "deletion",
        lambda view: view._replace(deletions=(True, False)),
        "the deletion of topic 0 does not end, and all its replicas work",
    ),
    (
        "deletion",
        lambda view: view._replace(deletions=(False, True)),
        "the deletion of topic 1 does not end, and all its replicas work",
    ),
    (
        "reassignment",
        lambda view: view._replace(
            topics=(view.topics[0] and view.topics[0]._replace(adding=(2,)), *view.topics[1:])
        ),
        "the reassignment of topic 0 does not end, and all its replicas work",
    ),
    (
        "metadata",
        lambda view: _answers(view, 3, leaders=(2, -3, 2)),
        "topic 0 has leader 2 in the metadata of broker 3",
    ),
    (
        "metadata",
        lambda view: _answers(view, 3, leaders=(1, 1, 2)),
        "topic 1 has leader 1 in the metadata of broker 3",
    ),
    (
        "metadata",
        lambda view: _answers(view, 2, controller=3),
        "the controller is 3 in the metadata of broker 2",
    ),
    (
        "metadata",
        lambda view: view._replace(answers=(None, *view.answers[1:])),
        "broker 1 works and does not answer Metadata",
    ),
    (
        "coordinator",
        lambda view: _answers(view, 1, coordinator=1),
        "broker 1 finds broker 1 as the coordinator, not broker 2",
    ),
    (
        "coordinator",
        lambda view: view._replace(group=Group(14)),
        "the coordinator answers with error 14",
    ),
    (
        "coordinator",
        lambda view: view._replace(group=Group(NO_ANSWER)),
        "the coordinator does not answer",
    ),
    (
        "coordinator",
        lambda view: view._replace(group=Group(0, (7, -1), "Dead")),
        "the coordinator describes a group without members as Dead",
    ),
    (
        "coordinator",
        lambda view: view._replace(group=Group(0, (7, -1), "Stable")),
        "the coordinator describes a group without members as Stable",
    ),
    (
        "offsets",
        lambda view: view._replace(group=Group(0, (-1, -1))),
        "the offset of topic 0 is -1, and 7 was committed",
    ),
    (
        "offsets",
        lambda view: view._replace(group=Group(0, (7, 3))),
        "topic 1 is deleted, and its committed offset 3 is not",
    ),
    (
        "logs",
        lambda view: _answers(view, 2, folders=("0", "1")),
        "broker 2 has a folder of topic 1",
    ),
    (
        "logs",
        lambda view: _answers(view, 3, folders=("0",)),
        "broker 3 has a folder of topic 0",
    ),
]


@pytest.mark.parametrize(("promise", "change", "words"), WRONG)
def test_a_view_with_one_fault_violates_its_promise(
    settled: ClusterView, promise: str, change: Change, words: str
) -> None:
    assert Violation(promise, words) in unsettled(change(settled))


def test_every_promise_about_settled_views_has_a_fault() -> None:
    assert {promise for promise, *_ in WRONG} == set(WHEN_SETTLED)


Before = Callable[[ClusterView], Sequence[ClusterView]]

WRONG_IN_ORDER: list[tuple[str, Before, str]] = [
    (
        "controller-epoch",
        lambda view: [view._replace(controller_epoch=2, controller_version=2), view],
        "the controller epoch falls from 2 to 1",
    ),
    (
        "controller-epoch",
        lambda view: [view._replace(controller_version=2)],
        "the controller epoch is 1, the version of its node 2",
    ),
    (
        "one-controller",
        lambda view: [view, view._replace(controller=2, controller_node=99)],
        "two controllers have the epoch 1",
    ),
    (
        "in-sync",
        lambda view: [_state(view, isr=(2,))],
        "the leader of topic 0, broker 1, is not in its ISR",
    ),
    (
        "in-sync",
        lambda view: [_state(view, leader=-1, isr=())],
        "the ISR of topic 0 is empty",
    ),
    (
        "in-sync",
        lambda view: [_state(view, isr=(1, 3))],
        "the ISR of topic 0 has a broker that is no replica",
    ),
    (
        "leader-epoch",
        lambda view: [_state(view, leader_epoch=2), view],
        "the leader epoch of topic 0 falls from 2 to 0",
    ),
    (
        "leader-epoch",
        lambda view: [view, _state(view, leader=2)],
        "topic 0 has another leader in the leader epoch 0",
    ),
    (
        "leader-epoch",
        lambda view: [_state(view, controller_epoch=2), _state(view, leader_epoch=1)],
        "a controller that is older writes the state of topic 0",
    ),
]


@pytest.mark.parametrize(("promise", "change", "words"), WRONG_IN_ORDER)
def test_views_with_one_fault_violate_their_promise(
    settled: ClusterView, promise: str, change: Before, words: str
) -> None:
    assert violations(change(settled)) == [Violation(promise, words)]


def test_every_promise_about_all_views_has_a_fault() -> None:
    assert {promise for promise, *_ in WRONG_IN_ORDER} == set(ALWAYS)


def test_an_isr_without_zookeeper_is_empty_only_without_a_leader(settled: ClusterView) -> None:
    quorum = settled._replace(zookeeper=False)
    assert violations([_state(quorum, leader=-1, isr=())]) == []
    words = ["the leader of topic 0, broker 1, is not in its ISR", "the ISR of topic 0 is empty"]
    assert violations([_state(quorum, isr=())]) == [Violation("in-sync", each) for each in words]


@pytest.mark.parametrize("running", [(True, False, False), (False, False, True)])
def test_without_a_majority_no_controller_and_no_registration_is_promised(
    settled: ClusterView, running: tuple[bool, ...]
) -> None:
    view = settled._replace(running=running, controller=0, registered=(0, 0, 0), zookeeper=False)
    assert unsettled(view) == []
    promised = [each.promise for each in unsettled(view._replace(running=(True, True, False)))]
    assert promised == ["registration", "registration", "controller"]


def test_each_promise_says_something_of_a_cluster_of_some_kind() -> None:
    with_zookeeper, without = (set(of_cluster(EVERY, zookeeper=each)) for each in (True, False))
    assert with_zookeeper | without == set(EVERY)
    assert (len(with_zookeeper), len(without)) == (14, 14)


def test_a_topic_that_is_created_again_begins_with_leader_epoch_zero(settled: ClusterView) -> None:
    again = settled._replace(topics=(TopicNode(120, (1, 2), Partition(2, 0, (1, 2), 1, 0)), None))
    assert violations([_state(settled, leader_epoch=5), again]) == []


def test_without_one_broker_the_others_keep_every_promise(settled: ClusterView) -> None:
    assert unsettled(_without_broker_3(settled)) == []


def test_a_deletion_is_pending_while_a_replica_does_not_work_and_the_topic_is_not_usable(
    settled: ClusterView,
) -> None:
    pending = settled._replace(
        deletions=(True, False),
        paused=(False, True, False),
        answers=(settled.answers[0], None, settled.answers[2]),
        group=None,
    )
    expected = [
        Violation("metadata", f"topic 0 has leader 1 in the metadata of broker {broker}")
        for broker in (1, 3)
    ]
    assert unsettled(pending) == expected
    for broker in (1, 3):
        pending = _answers(pending, broker, leaders=(-3, -3, 2))
    assert unsettled(pending) == []


def test_while_the_controller_is_paused_only_registrations_are_promised(
    settled: ClusterView,
) -> None:
    frozen = settled._replace(
        paused=(True, False, False), deletions=(True, True), answers=(None,) * 3, group=Group(14)
    )
    assert unsettled(_state(frozen, leader=-1)) == []
    assert [each.promise for each in unsettled(frozen._replace(registered=(50, 51, 0)))] == [
        "registration"
    ]


def test_a_topic_whose_replicas_have_all_failed_has_no_leader(settled: ClusterView) -> None:
    view = settled._replace(
        running=(False, False, True),
        registered=(0, 0, 52),
        controller=3,
        offsets_topic=TopicNode(80, (2, 3, 1), Partition(3, 9, (3,), 1, 9)),
        answers=(None, None, settled.answers[2]),
    )
    view = _state(view, leader=-1, isr=(1,), leader_epoch=3)
    view = _answers(view, 3, controller=3, leaders=(-5, -3, 3), coordinator=3)
    assert unsettled(view) == []
    words = "topic 0 has a leader, and no replica in its ISR is registered"
    assert Violation("leaders", words) in unsettled(_state(view, leader=1))


def test_violations_that_differ_in_numbers_only_have_one_key() -> None:
    one, other = (Violation("isr", f"broker {each} is not in the ISR of topic 0") for each in "12")
    assert one.key == other.key == "isr: broker N is not in the ISR of topic N"


def test_a_view_is_described_by_what_has_changed(settled: ClusterView) -> None:
    assert changes(settled)[:2] == [
        "controller: broker 1, epoch 1; registered: 1 2 3",
        "topic 0: replicas 1 2, leader 1, epoch 0, ISR 1 2",
    ]
    assert changes(_state(settled, leader=-1, leader_epoch=1), settled) == [
        "topic 0: replicas 1 2, no leader, epoch 1, ISR 1 2"
    ]
    assert changes(settled, settled) == []
