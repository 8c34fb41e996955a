"""Consumers of three client libraries in one group; the model checks each recording."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from groupcheck.implementation.core.profiles import PROFILES
from support.client_processes import LIBRARIES, Group, group
from support.economy import slow_if
from support.serving import Served, checked_session

PARTITIONS = 6


@pytest.fixture(params=PROFILES)
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Served]:
    with checked_session(tmp_path, request.param, ("topic", PARTITIONS)) as server:
        yield server


@pytest.fixture
def consumers(served: Served) -> Iterator[Group]:
    with group(served.address, "mixed", "topic", PARTITIONS) as made:
        yield made


def test_consumers_of_three_libraries_share_a_group(consumers: Group) -> None:
    first = consumers.add("confluent-kafka")
    consumers.wait_for_assignment(first)
    second = consumers.add("kafka-python")
    consumers.wait_for_assignment(first, second)
    third = consumers.add("aiokafka")
    consumers.wait_for_assignment(first, second, third)
    third.leave()
    consumers.wait_for_assignment(first, second)
    first.leave()
    consumers.wait_for_assignment(second)
    second.leave()


@pytest.mark.parametrize(
    "library", slow_if(lambda library: library != "confluent-kafka", LIBRARIES)
)
def test_partitions_of_a_killed_or_stalled_consumer_are_reassigned_when_its_session_expires(
    library: str, consumers: Group
) -> None:
    stays = consumers.add("confluent-kafka")
    killed = consumers.add(library, session_timeout_ms=1_500)
    consumers.wait_for_assignment(stays, killed)
    killed.kill()
    consumers.wait_for_assignment(stays)
    stalled = consumers.add(library, session_timeout_ms=1_500)
    consumers.wait_for_assignment(stays, stalled)
    stalled.stall()
    consumers.wait_for_assignment(stays)
    stalled.wake()
    consumers.wait_for_assignment(stays, stalled)


@pytest.mark.parametrize("library", LIBRARIES)
def test_next_consumer_resumes_at_the_committed_offset(library: str, consumers: Group) -> None:
    first = consumers.add(library)
    consumers.wait_for_assignment(first)
    first.commit(5)
    first.leave()
    second = consumers.add(library)
    consumers.wait_for_assignment(second)
    assert second.committed() == dict.fromkeys(range(PARTITIONS), 5)


def test_cooperative_consumer_keeps_the_partitions_that_stay_assigned(consumers: Group) -> None:
    cooperative = {"partition_assignment_strategy": "cooperative-sticky"}
    first = consumers.add("confluent-kafka", **cooperative)
    consumers.wait_for_assignment(first)
    before = len(first.assignments)
    second = consumers.add("confluent-kafka", **cooperative)
    consumers.wait_for_assignment(first, second)
    kept = set(first.assigned)
    assert all(kept <= set(held) for held in first.assignments[before:])
