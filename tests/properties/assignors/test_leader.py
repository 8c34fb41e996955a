from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from groupcheck.model.assignors.group import Group, Member, Partition, Topic
from groupcheck.properties.assignors.leader import ASSIGNORS, LeaderPort
from groupcheck.properties.assignors.port import AssignorFailedError

HERE = Path("/proc/self")


def topic(name: str, *racks: str, partitions: int = 1) -> Topic:
    return Topic(name, tuple(frozenset({rack}) for rack in racks) or (frozenset(),) * partitions)


def partitions(name: str, *numbers: int) -> tuple[Partition, ...]:
    return tuple(Partition(name, number) for number in numbers)


def open_sockets() -> set[str]:
    """The sockets of this process, by inode."""
    found = set()
    for each in (HERE / "fd").iterdir():
        try:
            found.add(str(each.readlink()))
        except FileNotFoundError:
            continue
    return {target for target in found if target.startswith("socket:")}


def process_of(port: LeaderPort, assignor: str) -> int:
    program = port._leaders[assignor]._program
    assert program is not None
    return program._process.pid


@pytest.fixture
def port() -> Iterator[LeaderPort]:
    port = LeaderPort()
    try:
        yield port
    finally:
        port.shutdown()


PAIR = Group(
    (topic("a", partitions=3), topic("b", partitions=3)),
    (Member("m1", ("a", "b")), Member("m2", ("a",))),
)


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_an_assignment_has_the_topics_of_its_group_and_not_of_an_earlier_one(
    port: LeaderPort, assignor: str
) -> None:
    for count in (3, 5, 0, 2):
        topics = (topic("a", partitions=count),) if count else ()
        group = Group(topics, (Member("m1", ("a", "gone")), Member("m2", ("a",))))
        found = port.assign(assignor, group)
        assert found.keys() == {"m1", "m2"}
        assert sorted([*found["m1"], *found["m2"]]) == list(partitions("a", *range(count)))


def test_range_and_roundrobin_assign_what_their_definitions_say(port: LeaderPort) -> None:
    by_range = port.assign("range", PAIR)
    assert sorted(by_range["m1"]) == [*partitions("a", 0, 1), *partitions("b", 0, 1, 2)]
    assert by_range["m2"] == partitions("a", 2)
    in_turn = port.assign("roundrobin", PAIR)
    assert sorted(in_turn["m1"]) == [*partitions("a", 0, 2), *partitions("b", 0, 1, 2)]
    assert in_turn["m2"] == partitions("a", 1)


def test_the_consumer_sees_owned_partitions_generations_and_racks(port: LeaderPort) -> None:
    owners = Group(
        (topic("a", partitions=2),),
        (
            Member("m1", ("a",), owned=partitions("a", 0), generation=1),
            Member("m2", ("a",), owned=partitions("a", 1, 0), generation=2),
        ),
    )
    kept = port.assign("cooperative-sticky", owners)
    assert Partition("a", 1) in kept["m2"] or Partition("a", 0) in kept["m2"]
    assert kept["m1"] == ()  # m2 has yet to revoke the partition that m1 gets

    near = Group(
        (topic("a", "x", "y"),), (Member("m1", ("a",), rack="y"), Member("m2", ("a",), rack="x"))
    )
    by_rack = {"m1": partitions("a", 1), "m2": partitions("a", 0)}
    assert port.assign("range", near) == by_rack


def test_a_consumer_that_does_not_answer_costs_one_line_and_one_group(port: LeaderPort) -> None:
    assert port.open().assignors == ASSIGNORS
    expected = port.assign("range", PAIR)
    stopped = process_of(port, "range")
    os.kill(stopped, signal.SIGSTOP)
    os.waitpid(stopped, os.WUNTRACED)  # its threads do not stop at once
    port._limit_s = 0.1
    with pytest.raises(AssignorFailedError, match=r"^no answer within 0\.1 s$"):
        port.assign("range", PAIR)
    port._limit_s = 10.0
    assert port.assign("range", PAIR) == expected
    os.kill(process_of(port, "range"), signal.SIGKILL)
    with pytest.raises(AssignorFailedError, match=r"^its process was killed by signal SIGKILL$"):
        port.assign("range", PAIR)
    assert port.assign("range", PAIR) == expected


@pytest.mark.skipif(not HERE.exists(), reason="needs Linux's /proc")
def test_shutdown_leaves_no_process_thread_or_socket(port: LeaderPort) -> None:
    threads, sockets = set(threading.enumerate()), open_sockets()
    for assignor in ASSIGNORS:
        port.assign(assignor, PAIR)
    children = [process_of(port, assignor) for assignor in ASSIGNORS]
    assert open_sockets() > sockets
    port.shutdown()
    port.shutdown()
    assert not [child for child in children if Path(f"/proc/{child}").exists()]
    assert set(threading.enumerate()) == threads
    assert open_sockets() <= sockets
