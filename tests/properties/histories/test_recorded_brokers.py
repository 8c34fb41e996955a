"""The model allows the recorded tests of Kafka, checked without a broker."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from groupcheck.properties.histories.recorded_tests import PortChecked, check_tests
from support.economy import slow_if
from support.marked_tests import ROOT

RECORDED: Final = ROOT / "tests" / "recorded"
# Of each file: the port, the profile, the tests, and the steps.
CHECKED: Final = (
    PortChecked("kafka:0.10.2", "0.10.2", 200, 5_046),
    PortChecked("kafka:2.7", "2.7", 200, 5_798),
    PortChecked("kafka:3.9", "3.9", 200, 5_678),
    PortChecked("kafka:4.1", "4.1", 200, 5_942),
)
USUAL: Final = ("2.7", "4.1")


def _path(port: str) -> Path:
    return RECORDED / f"{port.replace(':', '-')}.jsonl.xz"


@pytest.mark.parametrize(
    "expected",
    slow_if(lambda each: each.profile not in USUAL, CHECKED),
    ids=[each.port for each in CHECKED],
)
def test_the_model_allows_what_a_broker_answered(expected: PortChecked) -> None:
    checked = check_tests(_path(expected.port))
    assert checked.finding is None
    assert checked.parts == (expected,)


def test_every_file_is_checked_and_together_they_are_small() -> None:
    files = set(RECORDED.iterdir())
    assert files == {_path(each.port) for each in CHECKED}
    assert sum(path.stat().st_size for path in files) < 400_000
