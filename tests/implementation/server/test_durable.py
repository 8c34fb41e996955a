"""A server that keeps groups and offsets in a directory: what it has acknowledged survives."""

from __future__ import annotations

import resource
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest

from groupcheck.implementation.core.profiles import PROFILES
from groupcheck.implementation.server.server import CannotServeError
from support.client_processes import group
from support.served_process import commit, committed, kills, served
from support.serving import QUICK, Served, checked_session, connected_to

PARTITIONS = 2
OFFSET = [("topic", [(0, 5, None)])]
TOPIC = ("topic", PARTITIONS)
NOT_COORDINATOR = 16  # the error of a commit when the disk fails


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.slow
def test_acknowledged_offsets_survive_a_killed_server(profile: str, tmp_path: Path) -> None:
    found = kills(tmp_path, 4, 7, 0.5, "--profile", profile)
    assert found.lost == []
    assert found.acknowledged > 0


@pytest.mark.parametrize("profile", PROFILES)
def test_real_consumers_find_their_offsets_after_a_restart_and_the_recording_conforms(
    profile: str, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    with (
        checked_session(tmp_path, profile, TOPIC, data_dir=tmp_path / "data") as server,
        group(server.address, "g", "topic", PARTITIONS) as consumers,
    ):
        first, second = consumers.add("confluent-kafka"), consumers.add("kafka-python")
        consumers.wait_for_assignment(first, second)
        first.commit(5)
        second.commit(5)
        second.leave()
        consumers.wait_for_assignment(first)
        first.leave()
    with (
        Served(TOPIC, profile=profile, data_dir=tmp_path / "data") as server,
        group(server.address, "g", "topic", PARTITIONS) as consumers,
    ):
        later = consumers.add("aiokafka")
        consumers.wait_for_assignment(later)
        assert later.committed() == dict.fromkeys(range(PARTITIONS), 5)


@pytest.mark.parametrize("profile", PROFILES)
def test_groups_that_share_a_partition_and_its_fsyncs_conform(profile: str, tmp_path: Path) -> None:
    config = (*QUICK, "offsets.topic.num.partitions=1")
    data_dir, record = tmp_path / "data", tmp_path / "record.jsonl"

    def ask(number: int) -> None:
        pick = Random(number)
        asked: list[tuple[str, int, dict[str, Any]]] = [
            ("OffsetCommit", 2, {"generation_id_or_member_epoch": -1, "topics": OFFSET}),
            ("OffsetFetch", 7, {"topics": [("topic", [0])], "require_stable": True}),
            ("OffsetFetch", 7, {"topics": [("topic", [0])], "require_stable": False}),
        ]
        with server.connected() as wire:
            for _ in range(60):
                names = pick.choices("abcd", k=2)
                api, version, fields = pick.choice(asked)
                wire.ask(api, version, group_id=names[0], **fields)
                wire.ask("DescribeGroups", 0, groups=names)
                wire.ask("ListGroups", 0)
                wire.ask("DeleteGroups", 0, groups_names=names)

    with (
        Served(TOPIC, profile=profile, config=config, data_dir=data_dir, record=record) as server,
        ThreadPoolExecutor(4) as clients,
    ):
        list(clients.map(ask, range(4)))
    checked = server.checked()
    assert checked.finding is None
    assert (checked.groups, checked.cut) == (4, ())


def test_group_that_existed_before_the_recording_is_not_checked(tmp_path: Path) -> None:
    data_dir, record = tmp_path / "data", tmp_path / "record.jsonl"
    for _ in range(2):
        with Served(TOPIC, data_dir=data_dir, record=record) as server, server.connected() as wire:
            assert commit(wire, "g", 1) == 0
    checked = server.checked()
    assert checked.finding is None
    assert checked.cut == ("group 'g': it existed before the recording began",)


def test_expired_offsets_are_removed_while_the_server_runs(tmp_path: Path) -> None:
    often = "offsets.retention.check.interval.ms=50"
    config = (*QUICK, often, "offsets.retention.minutes=0")
    with (
        Served(TOPIC, config=config, record=tmp_path / "file") as server,
        server.connected() as wire,
    ):
        assert commit(wire, "g", 1) == 0
        while committed(wire, "g") != -1:
            pass
    assert server.checked().finding is None


def test_normal_shutdown_leaves_nothing_to_recover(tmp_path: Path) -> None:
    with served(tmp_path) as server, connected_to(server.port) as wire:
        assert commit(wire, "g", 3) == 0
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
    with served(tmp_path) as server, connected_to(server.port) as wire:
        assert committed(wire, "g") == 3
        assert len(server.said) == 1


def test_directory_of_another_server_is_rejected(tmp_path: Path) -> None:
    with Served(data_dir=tmp_path):
        second = Served(data_dir=tmp_path)
        with pytest.raises(CannotServeError, match="is in use by another process"), second:
            pass


@pytest.mark.parametrize("profile", PROFILES)
def test_commit_fails_on_a_full_disk_and_the_server_continues(profile: str, tmp_path: Path) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    with served(tmp_path, "--profile", profile) as server, connected_to(server.port) as wire:
        assert commit(wire, "g", 1) == 0
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1, most))
        assert commit(wire, "g", 2) == NOT_COORDINATOR
        assert committed(wire, "g") == 1
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))
        assert commit(wire, "g", 3) == 0
        assert committed(wire, "g") == 3
