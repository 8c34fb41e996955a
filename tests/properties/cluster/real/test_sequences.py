"""Sequences of actions: random ones, files, and their comparison with a specification."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from random import Random

import pytest

from groupcheck.model.brokers import (
    COMMIT,
    CREATE,
    DELETE,
    EXPIRE,
    KILL,
    MOVE,
    START,
    Assignment,
    ClusterInput,
    Nodes,
    Partition,
)
from groupcheck.properties.cluster.real.actions import (
    ASSIGNMENTS,
    FEWEST,
    MOST,
    NAMES,
    PAUSE,
    RESUME,
    Action,
    after,
    possible,
    random_sequence,
    simulated,
)
from groupcheck.properties.cluster.real.oracle import differences, disallowed, inputs_of
from groupcheck.properties.cluster.real.sequence_file import (
    read_sequence,
    write_sequence,
)
from groupcheck.properties.cluster.real.views import ClusterView, nodes
from groupcheck.properties.finding_file import MalformedFileError


def test_random_sequences_have_every_action_and_the_same_seed_makes_the_same_ones() -> None:
    one, other = (
        [random_sequence(random) for _ in range(300)] for random in (Random(5), Random(5))
    )
    assert one == other
    assert {action.given.name for each in one for action in each} == set(NAMES)
    assert {len(each) for each in one} == set(range(FEWEST, MOST + 1))
    assert not any(each[-1].at_once for each in one)


def test_sequences_without_zookeeper_have_no_action_on_it() -> None:
    random = Random(6)
    chosen = [random_sequence(random, zookeeper=False) for _ in range(300)]
    found = {action.given.name for each in chosen for action in each}
    assert found == set(NAMES) - {EXPIRE, MOVE}


def test_without_zookeeper_a_killed_broker_is_started_and_a_topic_is_deleted_at_once(
    settled: ClusterView,
) -> None:
    topics = (False,) * len(ASSIGNMENTS)
    state = simulated(settled)._replace(topics=topics, deletions=topics, zookeeper=False)
    for name in (CREATE, DELETE):
        state = after(state, ClusterInput(KILL, broker=2))
        state = after(state, ClusterInput(name, topic=0))
        assert state.topics[0] == (name == CREATE)
    assert possible(ClusterInput(START, broker=2), state)


def test_a_broker_is_not_started_while_zookeeper_has_its_session(settled: ClusterView) -> None:
    state = simulated(settled)
    start, expire = ClusterInput(START, broker=2), ClusterInput(EXPIRE, broker=2)
    assert not possible(start, state)
    state = after(state, ClusterInput(KILL, broker=2))
    assert not possible(start, state)
    state = after(state, expire)
    assert possible(start, state)
    assert not possible(expire, state)


def test_only_a_paused_broker_goes_on(settled: ClusterView) -> None:
    state = simulated(settled)
    pause, resume = (ClusterInput(name, broker=1) for name in (PAUSE, RESUME))
    assert [possible(each, state) for each in (pause, resume)] == [True, False]
    state = after(state, pause)
    assert [possible(each, state) for each in (pause, resume)] == [False, True]


def test_a_sequence_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    random = Random(0)
    for actions in (random_sequence(random) for _ in range(50)):
        write_sequence(file, "kafka-cluster:2.7", actions)
        assert read_sequence(file) == actions


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Input data was truncated"),
        ("[]", "Expected `object`, got `array`"),
        ('{"cluster":"c","actions":[{"name":"rain"}]}', "there is no action 'rain'"),
        (f'{{"cluster":"c","actions":[{{"name":"{KILL}"}}]}}', "with broker 0"),
        (f'{{"cluster":"c","actions":[{{"name":"{KILL}","broker":4}}]}}', "with broker 4"),
        (f'{{"cluster":"c","actions":[{{"name":"{CREATE}","topic":3}}]}}', "with topic 3"),
        (f'{{"cluster":"c","actions":[{{"name":"{MOVE}","topic":1}}]}}', "with topic 1"),
    ],
)
def test_a_file_without_a_sequence_is_refused(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "file"
    file.write_text(text)
    with pytest.raises(MalformedFileError, match=f"file has no sequence: .*{why}"):
        read_sequence(file)


def test_an_oracle_is_asked_about_settled_inputs_that_change_nodes() -> None:
    create, kill = ClusterInput(CREATE, topic=0), ClusterInput(KILL, broker=1)
    commit, pause = ClusterInput(COMMIT, topic=0), ClusterInput(PAUSE, broker=1)
    assert inputs_of([Action(create), Action(commit), Action(kill)]) == (create, kill)
    assert inputs_of([Action(create), Action(pause)]) is None
    assert inputs_of([Action(create, at_once=True), Action(kill)]) is None


def test_nodes_that_differ_in_versions_and_registrations_only_are_allowed(
    settled: ClusterView,
) -> None:
    found = nodes(settled)
    allowed = found._replace(
        brokers=(3, 1, 2), partitions=(Partition(1, 0, (2, 1), 1, 5), *found.partitions[1:])
    )

    def oracle(inputs: Sequence[ClusterInput]) -> Collection[Nodes]:
        return [allowed] if inputs else []

    assert disallowed(oracle, (ClusterInput(MOVE),), settled) == []
    (violation,) = disallowed(oracle, (), settled) or []
    assert violation.words == "the specification allows no nodes"


def test_nodes_are_not_compared_if_there_are_too_many_to_say(settled: ClusterView) -> None:
    assert disallowed(lambda _: None, (ClusterInput(MOVE),), settled) is None


def test_nodes_that_are_not_allowed_are_compared_with_the_nearest(settled: ClusterView) -> None:
    found = nodes(settled)
    near = found._replace(partitions=(Partition(2, 1, (1, 2), 1, 0), *found.partitions[1:]))
    far = near._replace(controller=3, controller_epoch=9)
    (violation,) = disallowed(lambda _: [far, near], (ClusterInput(MOVE),), settled) or []
    assert violation.words == (
        "not allowed: topic 0, state: leader 1, epoch 0, ISR 1 2 instead of leader 2, epoch 1, "
        "ISR 1 2"
    )


def test_every_difference_between_nodes_is_named(settled: ClusterView) -> None:
    found = nodes(settled)
    none = (Assignment(),) * 2
    other = Nodes(2, 5, (1, 0, 1), (False, True), (None, None), (True, False), none)
    assert differences(found, other) == [
        "controller 1 instead of 2",
        "controller epoch 1 instead of 5",
        "brokers (1, 1, 1) instead of (1, 0, 1)",
        "topic 0, exists: yes instead of no",
        "topic 0, to be deleted: no instead of yes",
        "topic 0, replicas: 1 2 instead of none",
        "topic 0, state: leader 1, epoch 0, ISR 1 2 instead of none",
        "topic 1, exists: no instead of yes",
    ]


def test_a_deletion_ends_in_the_simulation_when_all_replicas_work(settled: ClusterView) -> None:
    topics = (False,) * len(ASSIGNMENTS)
    state = simulated(settled)._replace(topics=topics, deletions=topics)
    create, delete = (ClusterInput(name, topic=0) for name in (CREATE, DELETE))
    assert not after(after(state, create), delete).topics[0]
    for given in (create, ClusterInput(KILL, broker=2), ClusterInput(EXPIRE, broker=2), delete):
        state = after(state, given)
    assert (state.topics[0], state.deletions[0]) == (True, True)
    state = after(state, ClusterInput(START, broker=2))
    assert (state.topics[0], state.deletions[0]) == (False, False)
