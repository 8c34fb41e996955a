"""Two-phase commit: the engine and TLC find the same in the smallest specification."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from groupcheck.model.engine.checking import violations
from groupcheck.model.engine.driver import replay, shortened, verify
from groupcheck.model.engine.exploration import StateSpace, explore
from groupcheck.model.engine.graph import StateGraph
from groupcheck.model.engine.statistics import statistics
from groupcheck.model.engine.trace import inputs_to
from groupcheck.model.twophase.specification import COMMIT_REACHES_ALL, CONSISTENT, TwoPhase
from support import tla
from support.documented import SavedFile, contents
from support.economy import exhaustive_if
from support.marked_tests import ROOT

FOLDER: Final = ROOT / "model" / "twophase"

# Resource managers -> what TLC reports: distinct states, states generated, depth.
TLC: Final = {
    3: (288, 1_146, 11),
    4: (1_568, 8_258, 14),
    5: (8_832, 58_146, 17),
    6: (50_816, 402_306, 20),
    7: (296_448, 2_744_706, 23),
}


@pytest.fixture(scope="module")
def space() -> StateSpace:
    return explore(TwoPhase(3))


@pytest.fixture(scope="module")
def ports() -> dict[str, Any]:
    """The implementations in the tutorial."""
    page = contents(ROOT / "docs" / "write-a-specification.md")
    saved = next(each for each in page if isinstance(each, SavedFile) and each.name == "commit.py")
    names: dict[str, Any] = {}
    exec(saved.text, names)  # noqa: S102 - of our own page
    return names


@pytest.mark.parametrize("managers", exhaustive_if(lambda n: n > 5, TLC))
def test_the_engine_finds_the_states_the_transitions_and_the_depth_that_tlc_finds(
    managers: int,
) -> None:
    found = statistics(explore(TwoPhase(managers)))
    assert (found.states, found.generated, found.depth + 1) == TLC[managers]


@pytest.mark.parametrize("managers", [3, 4])
def test_tlc_accepts_the_text_and_reports_these_counts(managers: int, tmp_path: Path) -> None:
    shutil.copy(FOLDER / "TwoPhase.tla", tmp_path)
    names = ", ".join(f"r{n}" for n in range(managers))
    config = (FOLDER / "TwoPhase.cfg").read_text(encoding="utf-8")
    config = re.sub(r"RM = .*", f"RM = {{{names}}}", config)
    (tmp_path / "TwoPhase.cfg").write_text(config, encoding="utf-8")
    out = tla.run("tlc2.TLC", "-deadlock", "TwoPhase.tla", cwd=tmp_path)
    assert "No error has been found" in out
    counts = re.search(
        r"^(\d+) states generated, (\d+) distinct.*?search is (\d+)", out, re.DOTALL | re.MULTILINE
    )
    assert counts is not None
    generated, distinct, depth = map(int, counts.groups())
    assert (distinct, generated, depth) == TLC[managers]


def test_each_rule_cites_the_line_of_its_action() -> None:
    lines = (FOLDER / "TwoPhase.tla").read_text(encoding="utf-8").splitlines()
    for rule in TwoPhase.version.rules.values():
        assert lines[int(rule.source.split(":")[1]) - 1].startswith(rule.id)


def test_the_invariant_and_the_temporal_property_hold(space: StateSpace) -> None:
    assert violations(space, [CONSISTENT, COMMIT_REACHES_ALL]) == []


def test_without_fairness_a_resource_manager_may_never_commit(space: StateSpace) -> None:
    (found,) = violations(space, [COMMIT_REACHES_ALL._replace(fair=lambda _given: None)])
    assert len(found.path) == 7
    assert found.cycle == []


def test_fairness_to_one_resource_manager_does_not_help_the_others(space: StateSpace) -> None:
    only = COMMIT_REACHES_ALL._replace(fair=lambda given: given == ("follow", 0) or None)
    (found,) = violations(space, [only])
    state, _ = inputs_to(space, found.path)
    assert state.decision == "Commit"


def test_the_counterexample_of_an_invariant_is_a_shortest_path(space: StateSpace) -> None:
    never = CONSISTENT._replace(holds=lambda state: state.decision != "Commit")
    (found,) = violations(space, [never])
    assert len(found.path) == 7  # each prepares, each Prepared arrives, and the decision
    _, inputs = inputs_to(space, found.path)
    assert str(inputs[-1]) == "decide"


def test_the_terminal_states_are_all_aborted_or_all_committed(space: StateSpace) -> None:
    graph = StateGraph(space)
    assert graph.unreachable() == []
    # After Abort all are aborted, whether they had prepared or not; after Commit all committed.
    ends = [space.nodes[c.nodes[0]] for c in graph.components() if c.terminal]
    assert {tuple({m.state for m in end.managers}) for end in ends} == {
        ("aborted",),
        ("committed",),
    }


def test_a_tour_covers_every_transition_of_a_correct_implementation(
    space: StateSpace, ports: dict[str, Any]
) -> None:
    result = verify(space, ports["Commit"])
    assert result.findings == []
    assert len(result.covered) == space.transition_count


def test_a_wrong_implementation_is_found_with_the_fewest_inputs(
    space: StateSpace, ports: dict[str, Any]
) -> None:
    (finding,) = verify(space, ports["MajorityCommit"]).findings
    assert sorted(each.name for each in finding.inputs) == [
        *("choose", "choose", "decide", "receive", "receive")
    ]
    assert (finding.expected, finding.seen) == ((("Abort",),), ("Commit",))
    assert shortened(space.instance, ports["MajorityCommit"], finding) == finding
    assert replay(space.instance, ports["Commit"](), finding.inputs) is None


def test_the_engine_does_not_mention_kafka() -> None:
    words = re.compile(
        r"kafka|group(?!check|by)|member|consumer|broker|coordinator|rebalance|offset|partition|topic"
    )
    for module in (ROOT / "model" / "engine").glob("*.py"):
        text = module.read_text(encoding="utf-8").lower()
        assert [line for line in text.splitlines() if words.search(line)] == [], module.name


def test_the_specification_has_fewer_than_100_lines() -> None:
    modules = FOLDER.glob("*.py")
    assert sum(len(m.read_text(encoding="utf-8").splitlines()) for m in modules) < 100
