"""`groupcheck smoke`: a line for each request, what the port supports, and an exit status."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from groupcheck.implementation.core.config import Config
from groupcheck.properties.smoke import ranges
from support.needs import needs
from support.wire_broker import CoordinatorBroker, serving

SMALL: Final = "python:support.small_ports"
TOY: Final = Path(__file__).parent.parent / "properties" / "ports" / "toy_coordinator.js"


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
def test_each_request_is_answered_without_an_error_by_the_built_in_coordinator(
    profile: str, printed: Callable[..., str]
) -> None:
    out = printed("smoke", "builtin", "--profile", profile)
    lines = re.findall(r"request    (\S+) v\d+ +[\d.]+ ms  (.*)", out)
    assert lines == [
        ("JoinGroup", "ok MEMBER_ID_REQUIRED (79)"),
        *(
            (api, "ok")
            for api in (
                "JoinGroup",
                "SyncGroup",
                "Heartbeat",
                "OffsetCommit",
                "OffsetFetch",
                "TxnOffsetCommit",
                "EndTxn",
                "DescribeGroups",
                "ListGroups",
                "OffsetDelete",
                "LeaveGroup",
                "DeleteGroups",
            )
        ),
    ]
    assert "supports   versions: JoinGroup 0-" in out
    assert "supports   faults: append, cleanup, configure, crash, " in out
    assert out.endswith("verdict    connected: 13 requests, 13 ok\n")


@needs("node")
def test_a_port_without_some_apis_and_faults_is_connected_in_less_than_5_s(
    printed: Callable[..., str],
) -> None:
    started = time.process_time()  # other tests may run beside
    out = printed("smoke", f"exec:node {TOY}")
    assert time.process_time() - started < 5
    assert re.search(r"request    ListGroups +[\d.]+ ms  unsupported\n", out)
    assert "supports   faults: holdAppends, releaseAppends\n" in out
    assert "supports   inner state: not reported\n" in out
    assert out.endswith("verdict    connected: 13 requests, 8 ok, 5 unsupported\n")


@pytest.mark.parametrize("limits", [(100, 2_000), (40_000, 60_000)])
def test_the_session_timeout_is_within_the_limits_that_a_broker_reports(
    limits: tuple[int, int], printed: Callable[..., str]
) -> None:
    with serving(CoordinatorBroker(Config(*limits, group_initial_rebalance_delay_ms=0))) as broker:
        out = printed("smoke", f"kafka://127.0.0.1:{broker.port}")
    assert re.search(r"JoinGroup v7 +[\d.]+ ms  ok\n", out)


@pytest.mark.parametrize(
    ("port", "status", "request_line", "verdict"),
    [
        ("HeartbeatsOnly", 0, "ok UNKNOWN_MEMBER_ID (25)", "connected: 12 requests, 1 ok, 11"),
        ("SmallPort", 1, "error UNKNOWN_MEMBER_ID (25)", "connected, with errors: 12 requests, "),
        (
            "Crashing",
            2,
            "failed port crashed: RuntimeError: not connected",
            "not connected: the port answered none of 12 requests",
        ),
        ("Silent", 2, "failed no answer", "not connected: the port answered none of 12 requests"),
    ],
)
def test_the_verdict_says_whether_a_port_is_connected(
    port: str, status: int, request_line: str, verdict: str, printed: Callable[..., str]
) -> None:
    out = printed("smoke", f"{SMALL}:{port}", status=status)
    assert f" ms  {request_line}\n" in out
    assert f"verdict    {verdict}" in out


def test_a_port_that_cannot_be_opened_is_not_connected(
    printed: Callable[..., str], error: Callable[..., str]
) -> None:
    out = printed("smoke", "exec:cat", status=2)
    assert "verdict    not connected: the port never opened (protocol error: " in out
    assert "exited with status 1 before it answered" in error("smoke", "exec:false")


def test_the_result_is_printed_as_json(printed: Callable[..., str]) -> None:
    found: dict[str, Any] = json.loads(printed("smoke", f"{SMALL}:HeartbeatsOnly", "--json"))
    assert found["connected"]
    assert (
        found["requests"][2].items()
        >= {
            "api": "Heartbeat",
            "apiVersion": 4,
            "outcome": "ok",
            "detail": "UNKNOWN_MEMBER_ID (25)",
        }.items()
    )
    assert found["supports"]["versions"]["Heartbeat"] == [4, 3, 2, 1, 0]
    assert found["supports"]["faults"] == []


@pytest.mark.parametrize(
    ("versions", "text"), [((), ""), ((3,), "3"), ((5, 2, 1, 0), "0-2, 5"), ((1, 0), "0-1")]
)
def test_versions_are_ranges(versions: tuple[int, ...], text: str) -> None:
    assert ranges(versions) == text
