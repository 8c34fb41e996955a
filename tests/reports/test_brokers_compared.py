"""The pages that compare brokers."""

from __future__ import annotations

from typing import Any

from broker_pages import Column, Found, MinorRun, compared_page, minors_page

from groupcheck.model.classic.profiles import PROFILES
from groupcheck.properties.brokers.apache import RELEASES


def column(title: str, profile: str, *found: Found, rules: tuple[str, ...]) -> Column:
    kept: dict[str, Any] = {
        "kafka": PROFILES[profile].kafka,
        "date": "2026-11-21",
        "instances": [
            {"transitions": {"total": 10, "covered": 4}},
            {"transitions": {"total": 5, "covered": 5}},
        ],
        "sequences": 1_000,
        "steps": 30_000,
        "undecided": 2,
        "findings_not_reproduced": 1,
        "seconds": 120.0,
        "rules": list(rules),
    }
    return Column(title, title.lower(), kept, PROFILES[profile].rules, found)


OWN = {"port": "kafka:2.7", "shared": False, "answers": ["no error | at all"]}
SHARED = {**OWN, "shared": True}


def test_a_row_has_how_many_rules_of_an_api_each_broker_applies() -> None:
    found = Found("0123abcd", "heartbeat/alive", "a title", "A text.\n", OWN)
    text = compared_page(
        [
            column("New", "4.1", rules=("heartbeat/alive", "join/group-full")),
            column("Old", "0.10.2", rules=()),
            column("Double", "2.7", found, rules=("heartbeat/alive",)),
        ]
    )
    assert "| JoinGroup | 1 of 1 | - | 0 of 1 |\n" in text
    assert "| Heartbeat | 1 of 1 | 0 of 1 | 0 of 1, 1 differ |\n" in text
    assert "| transitions covered | 9 of 15 | 9 of 15 | 9 of 15 |\n" in text
    assert "| findings shared with Kafka |  |  | 0 |\n" in text
    assert "SyncGroup" not in text


def test_a_finding_that_kafka_shares_is_counted_apart() -> None:
    found = Found("0123abcd", "heartbeat/alive", "a title", "A text.\n", SHARED)
    text = compared_page([column("Double", "2.7", found, rules=("heartbeat/alive",))])
    assert "| findings | 0 |\n" in text
    assert "| findings shared with Kafka | 1 |\n" in text
    assert "0123abcd" not in text


def test_finding_has_a_line_with_its_shortest_sequence_and_known_cause() -> None:
    text = (
        "Finding 00000001: a title\n\n"
        "  1. A sends JoinGroup v7 without a member id, offering range b'' (session timeout 1 s)\n"
        "       <- no error\n"
        "  2. A sends Heartbeat v4 for generation 1\n"
    )
    found = [
        Found(f"0000000{n}", rule, "a | title", text, OWN, "an old bug")
        for n, rule in ((1, "join/no-group"), (2, ""))
    ]
    text = compared_page([column("Double", "2.7", *found, rules=()), column("B", "2.7", rules=())])
    steps = "1. A: JoinGroup v7 without a member id<br>2. A: Heartbeat v4 for generation 1"
    assert f"| 00000001 | `join/no-group` | {steps} | a \\| title |\n" in text
    assert f"| 00000002 |  | {steps} | a \\| title |\n" in text
    assert "\nKnown cause of 00000001, 00000002: an old bug.\n" in text
    assert "| 2 (1 cause) |" in text
    assert "### B" not in text


def test_run_on_a_minor_version_has_a_row_with_its_unexplained_findings() -> None:
    release = next(each for each in RELEASES if each.minor == "3.4")
    kept: dict[str, Any] = {
        "profile": "3.6",
        "date": "2026-11-23",
        "sequences": 1_200,
        "steps": 30_000,
    }
    kept["instances"] = [{"transitions": {"total": 10, "covered": 4}}]
    text = minors_page([MinorRun(release, {**kept, "ended_early": ""}, ("an old bug", ""))])
    row = "| `kafka:3.4` | 3.4.1 | KRaft | 3.6 | 2026-11-23 | 1,200 | 30,000 | 40.0 % | 2 | 1 |\n"
    assert row in text
    assert "- 3.4 (1 finding): an old bug.\n" in text
    text = minors_page([MinorRun(release, {**kept, "ended_early": "hung"}, ())])
    assert "| 0 | 0, ended early |\n" in text
