"""The pages that compare brokers."""

from __future__ import annotations

from typing import Any

from groupcheck.model.profiles import PROFILES
from groupcheck.reports.brokers_compared import Column, Found, page, sequences_page


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


def test_a_row_has_what_each_broker_does_of_a_rule() -> None:
    found = Found("0123abcd", "heartbeat/alive", "a title", "A story.\n", OWN)
    told = page(
        [
            column("New", "4.1", rules=("heartbeat/alive", "join/group-full")),
            column("Old", "0.10.2", rules=()),
            column("Double", "2.7", found, rules=("heartbeat/alive",)),
        ]
    )
    link = "[0123abcd](brokers-compared-sequences.md#0123abcd)"
    says = PROFILES["4.1"].rules["heartbeat/alive"].says
    assert f"| {says} | yes |  | {link} |\n" in told
    assert f"| {PROFILES['4.1'].rules['join/group-full'].says} | yes | - |  |\n" in told
    assert "| transitions covered | 9 of 15 | 9 of 15 | 9 of 15 |\n" in told
    assert "| more findings that Kafka shares |  |  | 0 |\n" in told
    assert "## SyncGroup" not in told


def test_a_finding_that_kafka_shares_is_counted_apart() -> None:
    found = Found("0123abcd", "heartbeat/alive", "a title", "A story.\n", SHARED)
    told = page([column("Double", "2.7", found, rules=("heartbeat/alive",))])
    assert "| findings | 0 |\n" in told
    assert "| more findings that Kafka shares | 1 |\n" in told
    assert "0123abcd" not in told


def test_a_finding_against_no_rule_is_listed_apart() -> None:
    told = page([column("Double", "2.7", Found("0123abcd", "", "", ""), rules=())])
    assert "## No rule of the model\n\n1 finding: [0123abcd]" in told


def test_a_sequence_is_followed_by_the_answer_of_kafka() -> None:
    found = [
        Found("00000001", "", "", "The first.\n", OWN),
        Found("00000002", "", "", "The second.\n", SHARED),
        Found("00000003", "", "", "The third.\n"),
    ]
    told = sequences_page([column("Double", "2.7", *found, rules=()), column("B", "2.7", rules=())])
    assert "### 00000001\n\n```\nThe first.\n```\n\n`kafka:2.7` answers the last step" in told
    assert "no error \\| at all." in told
    assert "The second.\n```\n\n**Kafka does the same** (`kafka:2.7`).\n" in told
    assert "## B" not in told


def test_a_finding_has_its_known_cause() -> None:
    found = [Found(f"0000000{n}", "", "", "It.\n", None, "an old bug") for n in range(2)]
    columns = [column("Kafka", "2.7", *found, rules=())]
    assert "Known cause: an old bug.\n" in sequences_page(columns)
    assert "| findings with a known cause | 2, by 1 cause |\n" in page(columns)
