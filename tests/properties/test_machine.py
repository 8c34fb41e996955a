"""The state machine: what it leaves as it was, and what it does not do again."""

from __future__ import annotations

from pathlib import Path

from hypothesis.configuration import set_hypothesis_home_dir, storage_directory

from groupcheck.model.profiles import PROFILES
from groupcheck.properties.finding import Finding
from groupcheck.properties.machine import lockstep
from groupcheck.properties.ports.port import Port
from support.model_port import ModelPort


def _lockstep(port: Port, examples: int = 20) -> Finding | None:
    return lockstep(
        port,
        PROFILES["2.7"],
        examples=examples,
        steps=40,
        seed_number=0,
        known=set(),
        tally=lambda _steps: None,
    )


def test_where_hypothesis_keeps_its_files_is_as_it_was(tmp_path: Path) -> None:
    before = storage_directory(intent_to_write=False).path
    set_hypothesis_home_dir(tmp_path / "mine")
    try:
        assert _lockstep(ModelPort(), 1) is None
        assert storage_directory(intent_to_write=False).path == tmp_path / "mine"
    finally:
        set_hypothesis_home_dir(before)
