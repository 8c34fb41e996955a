"""`groupcheck explore`: its output, its exit status, and one line for each failure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from groupcheck.model.classic import profiles
from groupcheck.model.classic.exploring import exploration
from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.step import Profile
from groupcheck.model.engine.edits import ReplaceEffects
from groupcheck.model.engine.rules import VersionRule

QUICK = ["--members", "1", "--instance", "metadata"]


def test_the_result_is_printed_as_json_when_asked(printed: Callable[..., str]) -> None:
    result = json.loads(printed("explore", "--json", "--no-symmetry", *QUICK))["exploration"]
    assert result["symmetry"] is False
    (instance,) = result["instances"]
    assert instance["name"] == "metadata"
    assert instance["generated"] == instance["transitions"] + 1


def test_the_graphs_and_the_witness_are_written_and_their_names_printed(
    tmp_path: Path, printed: Callable[..., str]
) -> None:
    out = tmp_path / "out"
    said = printed("explore", *QUICK, "--witness", "sync/stable", "--out", out)
    names = {path.name for path in out.iterdir()}
    assert names == {
        "metadata.graphml",
        "metadata.dot",
        "metadata.json",
        "metadata.tests.jsonl",
        "witness_sync_stable.itf.json",
        "witness_sync_stable.jsonl",
    }
    assert "metadata: 11 tests, 0 of them kept; 340 steps, 1.01 times the lower bound\n" in said
    assert all(str(out / name) in "".join(said.split()) for name in names)
    printed("replay", out / "witness_sync_stable.jsonl", "builtin")


@pytest.fixture
def replace_profile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Profile], None]:
    """Replaces the profiles of the model by one."""
    return lambda profile: monkeypatch.setattr(profiles, "PROFILES", {"2.7": profile})


def test_an_error_in_the_model_has_exit_status_1(
    replace_profile: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    printed: Callable[..., str],
) -> None:
    rule = VersionRule("heartbeat/on-a-sunday", "it is Sunday", "nowhere", (), ())
    whole = profiles.PROFILES["2.7"]
    replace_profile(whole._replace(rules={**whole.rules, rule.id: rule}))
    # With every rule but this one in one small instance.
    monkeypatch.setattr(
        exploration,
        "instances",
        lambda profile, members: {"metadata": virtual_time_instances(profile, members)["metadata"]},
    )
    out = printed("explore", status=1)
    assert "ERROR      no transition applies the rule heartbeat/on-a-sunday" in out


def test_a_violated_property_has_exit_status_1_and_its_counterexample(
    replace_profile: Callable[..., None], printed: Callable[..., str]
) -> None:
    replace_profile(profiles.PROFILES["2.7"].edited(ReplaceEffects("heartbeat/alive", ())))
    out = printed("explore", *QUICK, status=1)
    assert "ERROR      the property unanswered-requests is violated" in out
    assert "  3. A sends Heartbeat v4 for generation 1\n" in out


def test_an_expected_violation_is_printed_and_is_no_error(printed: Callable[..., str]) -> None:
    out = printed("explore", "--members", "1", "--instance", "membership")
    assert (
        "The property completing-ends is violated in membership:\nproperty   A group leaves" in out
    )
    assert "\n           steps 3 to 4 repeat forever\n           expected: " in out


def test_a_folder_that_cannot_be_written_is_one_line(
    tmp_path: Path, error: Callable[..., str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    line = error("explore", *QUICK, "--out", str(tmp_path / "file"))
    assert "cannot write the graphs" in line


def test_features_make_one_instance(printed: Callable[..., str]) -> None:
    composed = printed("explore", "--members", "1", "--features", "metadata")
    assert "features metadata" in composed
    for name, out in (("composed", composed), ("metadata", printed("explore", *QUICK))):
        (row,) = (line.split() for line in out.splitlines() if line.startswith(f"{name}  "))
        assert row[1:4] == ["24", "288", "7"]


def test_distinct_generations_make_more_states(printed: Callable[..., str]) -> None:
    one = json.loads(printed("explore", "--json", *QUICK))["exploration"]
    three = json.loads(printed("explore", "--json", "--generations", "3", *QUICK))["exploration"]
    assert (one["generations"], three["generations"]) == (1, 3)
    assert one["instances"][0]["states"] < three["instances"][0]["states"]


def test_the_options_of_tlc_have_the_features(printed: Callable[..., str]) -> None:
    arguments = ["--no-symmetry", "--members", "1", "--generations", "2"]
    out = " ".join(printed("explore", *arguments, "--features", "metadata", "max-size").split())
    assert "-config metadata.cfg ConsumerGroup.tla" in out
    assert (
        'Version = "2.7", Names = {"m1", "m2"}, Generations = 2, '
        'Features = {"max-size", "metadata"}, MaxSize = 1'
    ) in out
