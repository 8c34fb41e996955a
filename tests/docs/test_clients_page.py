"""The pages on clients: what they say of Kafka's consumers, of findings and of rules."""

from __future__ import annotations

import re

from groupcheck.model.engine.exploration import explore
from groupcheck.model.member.specification import PARTS, VERSIONS, instances
from support.marked_tests import ROOT

PAGE = (ROOT / "docs" / "clients-compared.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")


def test_kafkas_consumers_and_the_builtin_one_differ_in_no_transition() -> None:
    rows = re.findall(r"^\| (kafka-clients|groupcheck) .*\|$", PAGE, re.MULTILINE)
    assert len(rows) == 3 * len(instances("4.1")) + len(instances("2.7"))
    for name in ("kafka-clients 4", "kafka-clients 3", "kafka-clients 2", "groupcheck"):
        for row in re.findall(rf"^\| {name}.* \| .*\|$", PAGE, re.MULTILINE):
            _, _, tried, same, differ = (cell.strip() for cell in row.split("|")[1:-1])
            assert tried == f"{same} of {same}"
            assert differ == "0"


def test_every_transition_of_the_instances_was_tried_with_kafkas_consumer() -> None:
    for name, instance in instances("4.1").items():
        number = explore(instance).transition_count
        assert f"| kafka-clients 4.1.2 | {name} | {number:,} of {number:,} |" in PAGE


def test_the_page_has_every_rule() -> None:
    rules = [rule.id for part in PARTS for rule in part.rules]
    assert re.findall(r"^\| \[`([^`]*)`\]", PAGE, re.MULTILINE) == rules
    assert set(rules) == {rule for version in VERSIONS.values() for rule in version.rules}


def test_the_findings_that_the_guide_names_are_on_the_page() -> None:
    for name in re.findall(r"\(`([0-9a-f]{8})`\)", GUIDE):
        assert f"({name}, " in PAGE
