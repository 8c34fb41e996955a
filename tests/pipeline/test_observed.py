"""The tables of a history, compared with values from the messages alone."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from support.needs import needs_packages

needs_packages("pandas", "pyarrow", "pyspark")

from groupcheck.model.classic.instances.inputs import GROUP_ID  # noqa: E402
from groupcheck.model.classic.profiles import PROFILES  # noqa: E402
from groupcheck.model.classic.state import Advance  # noqa: E402
from groupcheck.model.vocabulary import JoinGroupRequest, Protocol, Request, SyncGroupRequest  # noqa: E402
from groupcheck.properties.ports.builtin import BuiltinPort  # noqa: E402
from groupcheck.properties.run import Run  # noqa: E402
from support.production import Happened, Production  # noqa: E402
from support.replayed import as_events, at_once, one_by_one  # noqa: E402
from support.walked_recordings import Walked, walk  # noqa: E402

Where = tuple[str, int]


def lags(happened: list[Happened]) -> dict[Where, int | None]:
    """The longest time between the commits of two generations, from the messages alone."""
    asked: dict[int, Any] = {}
    commits: defaultdict[Where, list[tuple[int, int]]] = defaultdict(list)
    for each in happened:
        if each.api != "OffsetCommit":
            continue
        body = json.loads(each.body)
        if each.kind == "request":
            asked[each.number] = body["generationId"]
            continue
        for topic in body["topics"]:
            for partition in topic["partitions"]:
                if partition["errorCode"] == 0:
                    where = topic["name"], partition["partitionIndex"]
                    commits[where].append((asked[each.number], each.at_ms))
    found: dict[Where, int | None] = {}
    for where, of_it in commits.items():
        both = pairwise(of_it)
        between = [then - now for (one, now), (other, then) in both if one != other]
        found[where] = max(between, default=None)
    return found


@pytest.mark.parametrize("profile", ["0.10.2", "2.7", "4.1"])
def test_the_lag_between_generations_is_that_of_the_accepted_commits(profile: str) -> None:
    for seed in range(3):
        happened = Production(Random(seed), profile).go(4_000)
        rows = [
            row for name, row in at_once(as_events(happened, profile)).end() if name == "offset"
        ]
        result = {(row["topic"], row["partition"]): row["lag_ms"] for row in rows if row["commits"]}
        assert result == lags(happened)
        assert any(result.values())


@pytest.mark.slow
def test_offsets_that_expire_are_counted() -> None:
    expired = 0
    for seed in range(20):
        for name, row in one_by_one(walk("2.7", seed, 150).rows()).end():
            if name == "offset":
                assert row["removed"] >= row["expired"]
                expired += row["expired"]
    assert expired


def test_a_member_that_does_not_join_in_time_is_late() -> None:
    run = Run(BuiltinPort(1), PROFILES["2.7"], {"group.initial.rebalance.delay.ms": 3_000})

    def join(number: int, member_id: str) -> Request:
        protocols = (Protocol("range", b"orders"),)
        body = JoinGroupRequest(
            GROUP_ID, 300_000, 10_000, member_id, None, "consumer", protocols=protocols
        )
        return Request(number, 3, body, "client", "/10.0.0.1")

    sync = Request(3, 2, SyncGroupRequest(GROUP_ID, 1, "#1"))
    for given in (join(1, ""), join(2, ""), Advance(6_000), sync, join(4, "#1"), Advance(10_000)):
        run.step(given)
    real = {symbol: member_id for member_id, symbol in run.oracle.names.items()}
    rows = Walked("2.7", run.broker, run.exchanges, real).rows()
    result = [row["late"] for name, row in one_by_one(rows).end() if name == "rebalance"]
    assert result == [None, real["#2"]]
