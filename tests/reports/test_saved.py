"""The result record: it has the published schema, and a file is read as it was written."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from groupcheck.cli import main
from groupcheck.properties.coverage.kind import Kind, united
from groupcheck.properties.result import TransitionCounts
from groupcheck.reports.record_file import MalformedResultError, as_text, read, schema
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


def test_the_published_schema_is_that_of_the_record() -> None:
    Draft202012Validator.check_schema(PUBLISHED)
    assert _ordered(json.loads(json.dumps(schema()))) == _ordered(PUBLISHED)


def test_a_result_with_findings_conforms_to_the_schema(diverging: dict[str, Any]) -> None:
    Draft202012Validator(PUBLISHED).validate(diverging)
    for finding in diverging["findings"]:
        assert len(finding["states"]) == len(finding["trace"])  # whose first line is no step
        (differing,) = (each for each in finding["compared"] if each["observed"] != each["allowed"])
        assert differing == {
            "field": "state",
            "observed": "Empty",
            "allowed": "CompletingRebalance",
        }
        assert finding["states"][-1]["group.state"] == "CompletingRebalance"
        assert finding["states"][1]["group.members[A].awaitingJoin"] == "step 1"
    curve = diverging["runs"][0]["curve"]
    assert curve[-1]["covered"] == saved_results.diverging().covered
    assert curve == sorted(curve, key=lambda point: point["steps"])
    assert 2 < len(curve) <= 201


def test_verify_prints_and_writes_the_same_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = ["--examples", "0", "--members", "1", "--walks", "5"]
    assert main(["verify", "builtin", *quick, "--json", "--report", str(tmp_path)]) == 0
    printed = json.loads(capsys.readouterr().out)
    Draft202012Validator(PUBLISHED).validate(printed)
    assert printed == json.loads((tmp_path / "result.json").read_text())
    assert all(each["digest"] for each in printed["instances"])
    assert "join/new-member" in printed["rules"]["applied"]
    assert set(printed["rules"]["not_applied"]).isdisjoint(printed["rules"]["applied"])


def test_a_record_survives_writing_and_reading(diverging: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(diverging))
    saved = read(path)
    assert read(tmp_path) == saved
    assert json.loads(as_text(saved)) == diverging
    assert summary(saved, []).endswith("verdict    diverges from Apache Kafka 2.7.2: 2 findings\n")


def _without(values: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}


def _with(values: dict[str, Any], instance: dict[str, Any], **changed: object) -> dict[str, Any]:
    """The same with other fields in an instance."""
    return {**values, "instances": [instance | changed]}


def _spoilt(values: dict[str, Any], **changed: object) -> dict[str, Any]:
    """The same with other fields in a finding."""
    finding = values["findings"][0]
    return {**values, "findings": [finding | changed]}


def test_a_malformed_result_is_one_line(diverging: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    instance = diverging["instances"][0]
    counts = {**instance["transitions"], "covered": 0}
    step = diverging["findings"][0]["steps"][0]
    for found, why in (
        ("{", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ([], "its format is None, not 1"),
        ({**diverging, "format": 2}, "its format is 2, not 1"),
        (_without(diverging, "findings"), "missing required field `findings`"),
        ({**diverging, "steps": "many"}, "Expected `int`"),
        (_with(diverging, instance, transitions=counts), "are not those of its outcomes"),
        (_with(diverging, instance, outcomes="?"), "have an unknown letter"),
        (_spoilt(diverging, id="../../a"), "matching regex"),
        (_spoilt(diverging, observed="\x1b[2J"), "has control characters"),
        (_spoilt(diverging, title="\ud800"), "has control characters"),
        (
            _spoilt(
                diverging, steps=[{**step, "answers": [{"kind": "wrong", "step": 2, "text": ""}]}]
            ),
            "is to no step",
        ),
    ):
        path.write_text(found if isinstance(found, str) else json.dumps(found))
        with pytest.raises(MalformedResultError) as raised:
            read(path)
        assert why in str(raised.value)
        assert "\n" not in str(raised.value)


def test_unknown_fields_are_ignored(diverging: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps({**diverging, "new": [1]}))
    assert json.loads(as_text(read(path))) == diverging


def test_transitions_are_counted_by_letter_and_united_letter_by_letter() -> None:
    assert TransitionCounts.of("aahdnmlu-") == TransitionCounts(8, 3, 2, 1, 1, 1, 1, 1)
    assert united(["ulda", "hmua", "uuuu"]) == "hmda"
    assert united(["", ""]) == ""
    letters = {str(kind) for kind in Kind}
    assert united([each + "-" for each in letters]) == united(letters) + "-"
