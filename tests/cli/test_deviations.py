"""`groupcheck verify --deviations` and `--fail-on`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupcheck.cli import main

PORT = "python:support.faulty_python_port:make"
FEW = ("--members", "1", "--examples", "0", "--walks", "0")


def _verify(capsys: pytest.CaptureFixture[str], *options: object) -> tuple[int, str, str]:
    status = main(["verify", PORT, *FEW, *map(str, options)])
    said = capsys.readouterr()
    return status, said.out, said.err


def _file(path: Path, deviations: list[object], **fields: object) -> Path:
    entry = {"format": 1, "port": PORT, "profile": "2.7", "deviations": deviations, **fields}
    path.write_text(json.dumps(entry), encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_deviation_that_is_fixed_is_said_and_one_without_a_file_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = {"type": "open", "trace": 1, "profile": "2.7", "config": {}}
    describe = {
        "type": "request",
        "id": 1,
        "api": "DescribeGroups",
        "apiVersion": 0,
        "body": {"groups": ["group"]},
    }
    entry = {
        "deviation": "rule `heartbeat/alive` did not exist",
        "edit": {"edit": "drop-rule", "rule": "heartbeat/alive"},
        "rules": [],
        "id": "01234567",
        "severity": "protocol",
        "trace": [opened, describe],
    }
    file = _file(tmp_path / "known.json", [entry])
    status, out, _ = _verify(capsys, "--deviations", file)
    assert status == 0
    assert "fixed      no longer as if rule `heartbeat/alive` did not exist\n" in out
    new = tmp_path / "new.json"
    assert _verify(capsys, "--deviations", new)[0] == 0
    assert json.loads(new.read_text(encoding="utf-8"))["deviations"] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a file of deviations"),
        ('{"format": 1}', "not a file of deviations"),
        (
            '{"format": 2, "port": "", "profile": "2.7", "deviations": []}',
            "deviations of format 2 from 2.7; expected format 1 and 2.7",
        ),
        (
            '{"format": 1, "port": "", "profile": "4.1", "deviations": []}',
            "deviations of format 1 from 4.1; expected format 1 and 2.7",
        ),
    ],
)
def test_a_file_that_holds_no_deviations_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    file = tmp_path / "known.json"
    file.write_text(text, encoding="utf-8")
    status, out, err = _verify(capsys, "--deviations", file)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_deviations_with_sequences_and_an_unknown_severity_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, _, err = _verify(capsys, "--deviations", "no-file", "--sequences", 5)
    assert status == 2
    assert "--deviations cannot be used with --sequences" in err
    status, _, err = _verify(capsys, "--fail-on", "minor")
    assert status == 2
    assert "'minor' is not one of safety, liveness, protocol, cosmetic" in err
