"""Suites on disk: tests that are still valid are kept, and only the rest is planned again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupcheck.model.classic.exploring.fingerprint import edge_ids
from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.exploration import StateSpace, Transition
from groupcheck.model.vocabulary import ErrorCode, HeartbeatResponse
from groupcheck.properties.generators.suite_file import write_suite
from support.spaces import explored, explored_once

LIMIT = 60


@pytest.fixture(scope="module")
def space() -> StateSpace:
    return explored("2.7", "metadata")


def _read(path: Path) -> tuple[dict[str, object], list[list[str]]]:
    head, *tests = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return head, tests


def _changed(space: StateSpace, node: int) -> StateSpace:
    """The space with other answers to the heartbeats in one node."""

    def other(edge: Transition) -> Transition:
        if not any(isinstance(response.body, HeartbeatResponse) for response in edge.responses):
            return edge
        wrong = HeartbeatResponse(ErrorCode.UNKNOWN_SERVER_ERROR)
        return edge._replace(responses=tuple(r._replace(body=wrong) for r in edge.responses))

    edges = list(space.edges)
    edges[node] = tuple(map(other, edges[node]))
    return space._replace(edges=tuple(edges))


def test_transition_ids_are_distinct_and_the_same_in_every_exploration(space: StateSpace) -> None:
    ids = edge_ids(space)
    assert len({name for names in ids for name in names}) == space.transition_count
    assert edge_ids(explored_once(virtual_time_instances(PROFILES["2.7"], 2)["metadata"])) == ids


def test_a_suite_lists_every_edge_by_its_id_and_says_how_many_steps_it_takes(
    space: StateSpace, tmp_path: Path
) -> None:
    path, made = write_suite("metadata", space, LIMIT, tmp_path)
    head, tests = _read(path)
    assert path.name == "metadata.tests.jsonl"
    assert {name for test in tests for name in test} == {n for ns in edge_ids(space) for n in ns}
    assert (head["transitions"], head["steps"], head["lower_bound"], head["kept"]) == (
        2_039,
        made.steps,
        2_705,
        0,
    )
    assert made.steps == sum(map(len, tests))


def test_a_suite_of_a_model_that_has_not_changed_stays_as_it_is(
    space: StateSpace, tmp_path: Path
) -> None:
    path, first = write_suite("metadata", space, LIMIT, tmp_path)
    before = path.read_text(encoding="utf-8").splitlines()[1:]
    _, second = write_suite("metadata", space, LIMIT, tmp_path)
    assert second.tests == first.tests
    assert second.kept == len(first.tests)
    assert path.read_text(encoding="utf-8").splitlines()[1:] == before


def test_after_a_change_only_the_unaffected_tests_are_kept(
    space: StateSpace, tmp_path: Path
) -> None:
    path, _ = write_suite("metadata", space, LIMIT, tmp_path)
    _, before = _read(path)
    changed = _changed(space, 70)
    there = {name for names in edge_ids(changed) for name in names}
    gone = {name for names in edge_ids(space) for name in names} - there
    assert gone
    _, made = write_suite("metadata", changed, LIMIT, tmp_path)
    _, after = _read(path)
    unchanged = [test for test in before if gone.isdisjoint(test)]
    assert 0 < len(unchanged) < len(before)
    assert after[: made.kept] == unchanged
    assert {name for test in after for name in test} == there
    # Only the transitions of the dropped tests are planned again, and few more.
    dropped = sum(map(len, before)) - sum(map(len, unchanged))
    assert sum(map(len, after[made.kept :])) <= 2 * dropped


@pytest.mark.parametrize("text", ["", "\n\n", "{}\n[1]\nnull\n7\n", '{}\n["beef"]\n[]\n', "\x00"])
def test_a_file_that_is_no_suite_of_this_model_is_replaced(
    text: str, space: StateSpace, tmp_path: Path
) -> None:
    (tmp_path / "metadata.tests.jsonl").write_text(text, encoding="utf-8")
    _, made = write_suite("metadata", space, LIMIT, tmp_path)
    assert made.kept == 0
    assert len({transition for test in made.tests for transition in test}) == space.transition_count


def test_tests_that_are_longer_than_is_wanted_or_no_paths_are_planned_again(
    space: StateSpace, tmp_path: Path
) -> None:
    path, long = write_suite("metadata", space, LIMIT, tmp_path)
    _, shorter = write_suite("metadata", space, 20, tmp_path)
    assert shorter.kept == sum(len(test) <= 20 for test in long.tests) < len(long.tests)
    assert max(map(len, shorter.tests)) <= 20
    head, tests = path.read_text(encoding="utf-8").splitlines()[0], _read(path)[1]
    torn = [head, *(json.dumps(test[1:]) for test in tests)]
    path.write_text("\n".join(torn), encoding="utf-8")
    _, made = write_suite("metadata", space, 20, tmp_path)
    first = {name for names in edge_ids(space)[:1] for name in names}
    assert made.kept == sum(test[1] in first for test in tests if len(test) > 1)
