"""The saved result: its schema is published and holds, and it comes back as it was."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from groupcheck.cli import main
from groupcheck.properties.coverage.kind import Kind, united
from groupcheck.properties.result import Shares
from groupcheck.reports.saved_file import (
    MalformedResultError,
    as_text,
    read,
    schema,
)
from groupcheck.reports.terminal import summary
from support import saved_results

PUBLISHED: dict[str, Any] = json.loads(
    (files("groupcheck.reports") / "result.schema.json").read_text()
)


@pytest.fixture(scope="module")
def diverging() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(as_text(saved_results.diverging()))
    return made


def _ordered(value: Any) -> Any:
    """The same schema, whatever the order of alternatives: versions of msgspec have their own."""
    if isinstance(value, list):
        return sorted(map(_ordered, value), key=json.dumps)
    if isinstance(value, dict):
        return {key: _ordered(each) for key, each in value.items()}
    return value


def test_the_published_schema_is_that_of_the_records() -> None:
    Draft202012Validator.check_schema(PUBLISHED)
    assert _ordered(json.loads(json.dumps(schema()))) == _ordered(PUBLISHED)


def test_a_result_with_findings_is_as_the_schema_says_and_has_all_that_a_face_needs(
    diverging: dict[str, Any],
) -> None:
    Draft202012Validator(PUBLISHED).validate(diverging)
    for finding in diverging["findings"]:
        assert len(finding["states"]) == len(finding["trace"])  # whose first line is no step
        (differing,) = (each for each in finding["compared"] if each["seen"] != each["lawful"])
        assert differing == {"field": "state", "seen": "Empty", "lawful": "CompletingRebalance"}
        assert finding["states"][-1]["group.state"] == "CompletingRebalance"
        assert finding["states"][1]["group.members[A].awaitingJoin"] == "step 1"
    curve = diverging["runs"][0]["curve"]
    assert curve[-1]["shown"] == sum(space["edges_shown"] for space in diverging["spaces"])
    assert curve == sorted(curve, key=lambda point: point["steps"])
    assert 2 < len(curve) <= 201


def test_what_verify_prints_and_what_it_writes_is_the_same_and_as_the_schema_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = ["--examples", "0", "--members", "1", "--walks", "5"]
    assert main(["verify", "builtin", *quick, "--json", "--report", str(tmp_path)]) == 0
    printed = json.loads(capsys.readouterr().out)
    Draft202012Validator(PUBLISHED).validate(printed)
    assert printed == json.loads((tmp_path / "result.json").read_text())
    assert all(space["digest"] for space in printed["spaces"])
    assert "join/new-member" in printed["rules"]["applied"]
    assert set(printed["rules"]["starved"]).isdisjoint(printed["rules"]["applied"])


def test_a_saved_result_comes_back_as_it_was(diverging: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(diverging))
    saved = read(path)
    assert read(tmp_path) == saved
    assert json.loads(as_text(saved)) == diverging
    assert summary(saved, []).endswith("verdict    diverges from Apache Kafka 2.7.2: 2 findings\n")


def _without(values: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}


def _spoilt(values: dict[str, Any], **changed: object) -> dict[str, Any]:
    """The same with another field in one of its findings."""
    finding = values["findings"][0]
    return {**values, "findings": [finding | changed]}


def test_what_is_no_saved_result_is_said_in_one_line(
    diverging: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "result.json"
    space = diverging["spaces"][0]
    drawn = diverging["findings"][0]["diagram"]
    for found, why in (
        ("{", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ([], "it has no format"),
        ({"format": 1}, "it is of format 1, and not of 3 or 2"),
        (_without(diverging, "spaces"), "missing required field `spaces`"),
        ({**diverging, "steps": "many"}, "Expected `int`"),
        ({**diverging, "spaces": [space | {"edges_shown": 0}]}, "are not those of its edge_kinds"),
        ({**diverging, "spaces": [space | {"edge_kinds": "?"}]}, "a letter that means nothing"),
        (_spoilt(diverging, id="../../a"), "matching regex"),
        (_spoilt(diverging, story="\x1b[2J"), "a text of it cannot be printed"),
        (_spoilt(diverging, title="\ud800"), "a text of it cannot be printed"),
        (_spoilt(diverging, diagram={**drawn, "participants": ["A", "b"]}), "at nobody"),
    ):
        path.write_text(found if isinstance(found, str) else json.dumps(found))
        with pytest.raises(MalformedResultError) as raised:
            read(path)
        assert why in str(raised.value)
        assert "\n" not in str(raised.value)


def test_fields_of_a_later_version_are_passed_over(
    diverging: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps({**diverging, "new": [1]}))
    assert json.loads(as_text(read(path))) == diverging


def test_edges_are_counted_from_their_letters_and_united_letter_by_letter() -> None:
    assert Shares.of("aahdnmlu-") == Shares(8, 3, 2, 1, 1, 1, 1, 1)
    assert united(["ulda", "hmua", "uuuu"]) == "hmda"
    assert united(["", ""]) == ""
    letters = {str(kind) for kind in Kind}
    assert united([each + "-" for each in letters]) == united(letters) + "-"
