"""The server at the level of messages: its own APIs, the order of responses, its settings."""

from __future__ import annotations

import contextlib
import gc
import socket
import struct
import threading
import time
import warnings
from collections.abc import Iterator

import pytest

from groupcheck.implementation.server.ranges import API_KEYS, SERVED_PROFILES, served
from groupcheck.implementation.server.server import CannotServeError
from groupcheck.implementation.server.settings import BadSettingError, Settings, parse
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.vocabulary import REQUESTS
from support.client_processes import eventually
from support.serving import JOIN, QUICK, Served, Wire


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with Served(("topic", 2)) as server:
        yield server


@pytest.fixture
def wire(server: Served) -> Iterator[Wire]:
    with server.connected() as wire:
        yield wire


def test_advertised_apis_are_those_of_the_coordinator_in_the_profiles_versions(
    server: Served, wire: Wire
) -> None:
    answer = wire.ask("ApiVersions", 3, client_software_name="x", client_software_version="1")
    returned = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
    assert answer.error_code == 0
    assert returned == {API_KEYS[api]: tuple(r) for api, r in server.server.broker.served.items()}
    assert {API_KEYS["JoinGroup"], API_KEYS["Fetch"], API_KEYS["InitProducerId"]} <= returned.keys()


@pytest.mark.parametrize("profile", SERVED_PROFILES)
def test_newest_versions_of_a_profile_are_those_of_the_model(profile: str) -> None:
    model = {api: v for api, v in PROFILES[profile].max_versions.items() if api != "EndTxn"}
    newest = {api: v.newest for api, v in served(profile, model).items() if api in model}
    if profile == "4.1":
        # Two more versions, with several groups: the coordinator is called in version 7 for each.
        assert newest["OffsetFetch"] == 9
        newest["OffsetFetch"] = 7
    assert newest == model


def test_api_that_the_coordinator_lacks_is_not_advertised() -> None:
    less = served("2.7", {"JoinGroup", "TxnOffsetCommit"})
    assert {"JoinGroup", "FindCoordinator", "Fetch"} <= less.keys()
    assert less.keys().isdisjoint({"SyncGroup", "EndTxn", "AddOffsetsToTxn"})
    assert "AddOffsetsToTxn" in served("2.7", REQUESTS)


def test_api_versions_in_an_unknown_version_is_answered_in_version_0(wire: Wire) -> None:
    wire.request("ApiVersions", 4, client_software_name="x", client_software_version="1")
    assert wire.receive() == struct.pack(">ihihhh", 7, 35, 1, 18, 0, 3)
    assert wire.ask("ApiVersions", 0).error_code == 0


def test_metadata_returns_the_address_that_the_client_connected_to(
    server: Served, wire: Wire
) -> None:
    answer = wire.ask("Metadata", 1, topics=None)
    assert [(b.node_id, b.host, b.port) for b in answer.brokers] == [(0, server.host, server.port)]
    topics = {topic.name: len(topic.partitions) for topic in answer.topics}
    assert topics["topic"] == 2


def test_requested_topic_is_created_if_allowed(wire: Wire) -> None:
    def ask(name: str, *, create: bool) -> int:
        fields = {"topics": [(name,)], "allow_auto_topic_creation": create}
        (topic,) = wire.ask("Metadata", 4, **fields).topics
        return int(topic.error_code)

    assert ask("new", create=False) == 3
    assert ask("new", create=True) == 0
    assert ask("new", create=False) == 0
    assert ask("no good", create=True) == 17


def test_metadata_version_0_without_topics_returns_all_topics(wire: Wire) -> None:
    assert "topic" in {topic.name for topic in wire.ask("Metadata", 0, topics=[]).topics}
    assert wire.ask("Metadata", 1, topics=[]).topics == []


@pytest.mark.parametrize("key_type", [0, 1])
def test_find_coordinator_returns_this_broker_for_every_key(
    key_type: int, server: Served, wire: Wire
) -> None:
    answer = wire.ask("FindCoordinator", 3, key="any", key_type=key_type)
    here = (0, 0, server.host, server.port)
    assert (answer.error_code, answer.node_id, answer.host, answer.port) == here
    assert wire.ask("FindCoordinator", 3, key="any", key_type=9).error_code == 42


def test_describe_configs_returns_settings_with_their_source(wire: Wire) -> None:
    answer = wire.ask("DescribeConfigs", 1, resources=[(4, "0", None)])
    (result,) = answer.results
    returned = {c.name: (c.value, c.config_source) for c in result.configs}
    assert returned["group.initial.rebalance.delay.ms"] == ("0", 4)
    assert returned["group.max.session.timeout.ms"] == ("1800000", 5)
    one = wire.ask(
        "DescribeConfigs", 1, resources=[(4, "0", ["max.connections"]), (2, "topic", None)]
    )
    assert [c.name for c in one.results[0].configs] == ["max.connections"]
    assert one.results[1].error_code == 42


def test_duplicate_resources_are_described_once(wire: Wire) -> None:
    answer = wire.ask("DescribeConfigs", 1, resources=[(4, "0", None)] * 1_000)
    assert len(answer.results) == 1


def test_waiting_join_group_delays_later_requests_of_its_connection(server: Served) -> None:
    with server.connected() as first, server.connected() as second:
        leader = first.join(group_id="parked")
        # The other's join waits for the first to rejoin.
        second.request("JoinGroup", 3, **{**JOIN, "group_id": "parked"})
        second.request("ApiVersions", 0)
        eventually(lambda: first.state_of("parked") == "PreparingRebalance")
        second.socket.settimeout(0.3)
        with pytest.raises(TimeoutError):
            second.receive()
        second.socket.settimeout(20)
        again = first.join(group_id="parked", member_id=leader.member_id)
        assert second.answer("JoinGroup", 3).generation_id == again.generation_id == 2
        assert second.answer("ApiVersions", 0).error_code == 0


def test_responses_are_in_the_order_of_the_requests(wire: Wire) -> None:
    for version in (0, 1, 2, 0, 1, 2):
        wire.request("Metadata", version, topics=[("topic",)])
    for version in (0, 1, 2, 0, 1, 2):
        assert wire.answer("Metadata", version).topics[0].name == "topic"


def test_only_member_is_removed_when_its_session_expires(wire: Wire) -> None:
    member = wire.join(group_id="short", session_timeout_ms=150)
    fields = {"group_id": "short", "generation_id": 1, "member_id": member.member_id}
    sync = {**fields, "assignments": [(member.member_id, b"all")]}
    assert wire.ask("SyncGroup", 1, **sync).assignment == b"all"
    end = time.monotonic() + 20
    while wire.state_of("short") != "Empty":
        assert time.monotonic() < end
    assert wire.ask("Heartbeat", 1, **fields).error_code == 25


def test_leave_group_of_one_member_returns_its_error(wire: Wire) -> None:
    assert wire.ask("LeaveGroup", 1, group_id="missing", member_id="nobody").error_code == 25
    member = wire.join(group_id="left")
    assert wire.ask("LeaveGroup", 1, group_id="left", member_id=member.member_id).error_code == 0


def test_offsets_are_committed_for_known_partitions(wire: Wire) -> None:
    partitions = [(0, 5, None), (7, 5, None)]
    topics = [("topic", partitions), ("absent", [(0, 5, None)])]
    answer = wire.ask("OffsetCommit", 2, group_id="simple", topics=topics)
    returned = {
        t.name: {p.partition_index: p.error_code for p in t.partitions} for t in answer.topics
    }
    assert returned == {"topic": {0: 0, 7: 3}, "absent": {0: 3}}
    fetched = wire.ask("OffsetFetch", 2, group_id="simple", topics=None)
    assert [(t.name, [p.committed_offset for p in t.partitions]) for t in fetched.topics] == [
        ("topic", [5])
    ]


def test_commit_without_known_partitions_does_not_reach_the_coordinator(wire: Wire) -> None:
    topics = [("absent", [(0, 5, None)])]
    answer = wire.ask(
        "OffsetCommit", 2, group_id="", generation_id_or_member_epoch=9, topics=topics
    )
    assert [p.error_code for t in answer.topics for p in t.partitions] == [3]


def test_idempotent_producer_gets_its_own_id(wire: Wire) -> None:
    first, second = (
        wire.ask("InitProducerId", 0, transactional_id=None, transaction_timeout_ms=1_000)
        for _ in range(2)
    )
    assert (first.error_code, second.error_code) == (0, 0)
    assert first.producer_id != second.producer_id


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("max.connections", "max.connections is a number from 0 to 2147483647, not ''"),
        ("max.connections=-1", "max.connections is a number from 0 to 2147483647, not '-1'"),
        ("max.connections=2147483648", "not '2147483648'"),
        ("nonsense=1", "unknown broker setting 'nonsense'; known: group.min.session.timeout.ms, "),
    ],
)
def test_invalid_setting_is_rejected(setting: str, complaint: str) -> None:
    with pytest.raises(BadSettingError, match=complaint):
        parse([setting])


def test_settings_have_kafkas_names() -> None:
    settings = parse(["group.min.session.timeout.ms=1", "max.connections=2"])
    assert (settings.config.group_min_session_timeout_ms, settings.limits.max_connections) == (1, 2)
    assert parse([]) == Settings()


@pytest.mark.parametrize(
    ("topics", "complaint"),
    [
        ([("no good", 1)], "no topic can have the name 'no good'"),
        ([("..", 1)], "no topic can have the name"),
        ([("topic", 0)], "a topic has 1 to 1000 partitions, not 0"),
        ([("topic", 1_001)], "a topic has 1 to 1000 partitions, not 1001"),
        ([("a", 1), ("b", 1)], "there are already 1 topics"),
    ],
)
def test_invalid_topic_is_rejected(topics: list[tuple[str, int]], complaint: str) -> None:
    server = Served(*topics, config=(*QUICK, "max.topics=1"))
    with pytest.raises(CannotServeError, match=complaint), server:
        pass


def test_port_in_use_is_rejected(server: Served) -> None:
    other = Served(port=server.port)
    with pytest.raises(CannotServeError, match=r"cannot listen on 127.0.0.1:.* in use"), other:
        pass


def test_stopping_while_clients_connect_leaves_no_connection_open() -> None:
    stopped = threading.Event()

    def connect(address: tuple[str, int]) -> None:
        while not stopped.is_set():
            with contextlib.suppress(OSError), socket.create_connection(address, timeout=1):
                pass

    ports = []
    with warnings.catch_warnings(record=True) as unclosed:
        warnings.simplefilter("always", ResourceWarning)
        for _ in range(10):
            stopped.clear()
            with Served() as server:
                ports.append(server.port)
                address = server.host, server.port
                clients = [threading.Thread(target=connect, args=(address,)) for _ in range(2)]
                for client in clients:
                    client.start()
                time.sleep(0.02)
            stopped.set()
            for client in clients:
                client.join()
        del server
        gc.collect()
    of_servers = [f"laddr=('127.0.0.1', {port})" for port in ports]
    assert [str(w.message) for w in unclosed if any(a in str(w.message) for a in of_servers)] == []
