"""The model allows the recorded tests of Kafka, checked without a broker."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from groupcheck.properties.histories.recorded_tests import PortChecked, check_tests
from groupcheck.reports.confirmed import confirmed, total
from support.economy import slow_if
from support.marked_tests import ROOT

RECORDED: Final = ROOT / "tests" / "recorded"
# Of each file: the port, the profile, the tests, and the steps.
CHECKED: Final = (
    PortChecked("kafka:0.10.2", "0.10.2", 210, 5_086),
    PortChecked("kafka:2.4", "2.4", 98, 2_586),
    PortChecked("kafka:2.5", "2.5", 96, 2_866),
    PortChecked("kafka:2.6", "2.7", 96, 2_866),
    PortChecked("kafka:2.7", "2.7", 231, 5_924),
    PortChecked("kafka:2.8", "2.8", 131, 3_005),
    PortChecked("kafka:3.0", "3.2", 96, 2_868),
    PortChecked("kafka:3.1", "3.2", 96, 2_870),
    PortChecked("kafka:3.2", "3.2", 96, 2_877),
    PortChecked("kafka:3.3", "3.6", 100, 2_986),
    PortChecked("kafka:3.4", "3.6", 99, 2_960),
    PortChecked("kafka:3.5", "3.6", 100, 2_990),
    PortChecked("kafka:3.6", "3.6", 100, 2_990),
    PortChecked("kafka:3.7", "3.7", 100, 2_988),
    PortChecked("kafka:3.8", "3.9", 100, 2_997),
    PortChecked("kafka:3.9", "3.9", 237, 5_841),
    PortChecked("kafka:4.0", "4.1", 100, 2_990),
    PortChecked("kafka:4.1", "4.1", 238, 6_100),
    PortChecked("kafka:4.2", "4.1", 100, 2_996),
    PortChecked("kafka:4.3", "4.1", 100, 2_991),
    PortChecked("kafka:4.4", "4.1", 100, 2_997),
)
USUAL: Final = ("kafka:2.7", "kafka:4.1")


def _path(port: str) -> Path:
    return RECORDED / f"{port.replace(':', '-')}.jsonl.xz"


@pytest.mark.slow
@pytest.mark.parametrize(
    "expected",
    slow_if(lambda each: each.port not in USUAL, CHECKED),
    ids=[each.port for each in CHECKED],
)
def test_the_model_allows_what_a_broker_answered(expected: PortChecked) -> None:
    checked = check_tests(_path(expected.port))
    assert checked.finding is None
    assert checked.parts == (expected,)


def test_every_file_is_checked_and_together_they_are_small() -> None:
    files = set(RECORDED.iterdir())
    assert files == {_path(each.port) for each in CHECKED}
    assert sum(path.stat().st_size for path in files) < 1_200_000


def test_the_documentation_has_the_tests_of_each_broker_and_what_they_confirm() -> None:
    text = (ROOT / "docs" / "long-runs.md").read_text(encoding="utf-8")
    tested = {each.profile: each for each in CHECKED if each.port == f"kafka:{each.profile}"}
    for version in {version for version, _ in confirmed()}:
        sums = total(each for (other, _), each in confirmed().items() if other == version)
        row = f"| Kafka {version} | {tested[version].tests} | {tested[version].steps:,} |"
        row += f" {sums.parts} of {sums.visible} | {sums.of - sums.visible} |"
        assert row in text
