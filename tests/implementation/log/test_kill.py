"""Acknowledged appends survive a killed process."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.killed_writer import kills


@pytest.mark.slow
def test_killed_writer_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    looks = list(kills(tmp_path, times=8, seed=0, longest_s=0.3))
    assert [look.lost for look in looks] == [()] * 8
    assert sum(look.acknowledged for look in looks) > 100
