"""Consumers with a group.instance.id: their restarts do not affect the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from groupcheck.implementation.core.profiles import PROFILES
from support.client_processes import LIBRARIES, Group, group
from support.serving import checked_session

PARTITIONS = 6


@pytest.fixture(params=PROFILES)
def consumers(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Group]:
    with (
        checked_session(tmp_path, request.param, ("topic", PARTITIONS)) as served,
        group(served.address, "static", "topic", PARTITIONS) as made,
    ):
        yield made


@pytest.mark.parametrize("library", LIBRARIES)
def test_killed_static_member_rejoins_with_its_partitions_without_a_rebalance(
    library: str, consumers: Group
) -> None:
    stays = consumers.add("confluent-kafka", group_instance_id="one")
    consumers.wait_for_assignment(stays)
    first = consumers.add(library, group_instance_id="two")
    consumers.wait_for_assignment(stays, first)
    had, seen = first.assigned, len(stays.assignments)
    first.kill()
    again = consumers.add(library, group_instance_id="two")
    consumers.wait_for_assignment(stays, again)
    assert again.assigned == had
    assert len(stays.assignments) == seen


@pytest.mark.parametrize("library", LIBRARIES)
def test_static_member_that_does_not_rejoin_in_time_loses_its_partitions(
    library: str, consumers: Group
) -> None:
    stays = consumers.add("confluent-kafka", group_instance_id="one")
    second = consumers.add(library, group_instance_id="two", session_timeout_ms=1_500)
    consumers.wait_for_assignment(stays, second)
    second.kill()
    consumers.wait_for_assignment(stays)
