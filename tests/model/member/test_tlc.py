"""TLC and the explorer find the same in the specification of a consumer.

Two runs of TLC are compared for each instance. With the VIEW: the states, the transitions and the
depth. Without it a state has the step that leads to it, so that its states are the transitions:
what was before, the input, the events and the rules in their order, and what is after.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from groupcheck.model.client import ClientEvent, ClientInput
from groupcheck.model.engine.exploration import StateSpace, explore
from groupcheck.model.engine.statistics import statistics
from groupcheck.model.member.specification import VERSIONS, Consumer, instances
from groupcheck.model.member.state import Application, Member, Phase, Request
from support import tla
from support.economy import exhaustive_if
from support.marked_tests import ROOT

FOLDER: Final = ROOT / "model" / "member"
SPECIFICATION: Final = FOLDER / "Member.tla"
RULE_ID: Final = re.compile(r'"([a-z-]+/[a-z-]+)"')

# Version and instance -> what TLC reports: distinct states, states generated, depth.
TLC: Final = {
    ("2.7", "eager"): (87, 620, 12),
    ("2.7", "eager-static"): (116, 682, 12),
    ("2.7", "cooperative"): (147, 1_152, 12),
    ("2.7", "cooperative-static"): (202, 1_264, 12),
    ("2.7", "automatic"): (143, 1_146, 13),
    ("2.7", "automatic-static"): (164, 1_188, 13),
    ("2.7", "automatic-cooperative"): (265, 2_190, 14),
    ("2.7", "early-commits"): (215, 1_378, 15),
    ("4.1", "eager"): (101, 740, 12),
    ("4.1", "eager-static"): (132, 812, 12),
    ("4.1", "cooperative"): (167, 1_314, 12),
    ("4.1", "cooperative-static"): (224, 1_438, 12),
    ("4.1", "automatic"): (161, 1_350, 12),
    ("4.1", "automatic-static"): (184, 1_398, 12),
    ("4.1", "automatic-cooperative"): (289, 2_502, 13),
    ("4.1", "early-commits"): (247, 1_588, 15),
    ("4.1", "returning-leader"): (132, 819, 12),
}
FIRST: Final = next(iter(TLC))

Step = tuple[Member, ClientInput, tuple[ClientEvent, ...], tuple[str, ...], Member]


@cache
def _explored(version: str, name: str) -> StateSpace:
    return explore(instances(version)[name])


def _config(version: str, name: str, *, view: bool = True) -> str:
    text = (FOLDER / f"{name}.cfg").read_text(encoding="utf-8")
    text = re.sub("Version = .*", f'Version = "{version}"', text)
    return text if view else f"{text.replace('VIEW State', '')}PROPERTY BecomesStable\n"


def _steps(space: StateSpace) -> set[Step]:
    return {
        (space.nodes[source], edge.given, edge.responses[0], edge.applied, space.nodes[edge.target])
        for source, edges in enumerate(space.edges)
        for edge in edges
    }


def _fields(record: tla.Value) -> dict[str, Any]:
    """The fields of a record of TLA+, with the names that they have in Python."""
    found = {re.sub("([A-Z])", r"_\1", name).lower(): value for name, value in record}
    if "partitions" in found:
        found["partitions"] = tuple(sorted(found["partitions"]))
    return found


def _member(state: Mapping[str, tla.Value]) -> Member:
    found = _fields((name, state[name]) for name in ("memberId", *state) if name in STATE)
    return Member(**found)._replace(
        application=Application(found["application"]),
        phase=Phase(found["phase"]),
        owned=tuple(sorted(found["owned"])),
        sent=tuple(Request(**_fields(request)) for request in found["sent"]),
    )


STATE: Final = {re.sub("_(.)", lambda m: m[1].upper(), name) for name in Member._fields}


def _step(state: Mapping[str, tla.Value]) -> Step:
    events = tuple(ClientEvent(**_fields(event)) for event in state["events"])
    given = ClientInput(**_fields(state["given"]))
    return _member(dict(state["before"])), given, events, state["rules"], _member(state)


@pytest.mark.parametrize(("version", "name"), TLC)
def test_the_explorer_finds_the_states_the_transitions_and_the_depth_that_tlc_finds(
    version: str, name: str
) -> None:
    found = statistics(_explored(version, name))
    assert (found.states, found.generated, found.depth + 1) == TLC[version, name]


@pytest.mark.parametrize(
    "case",
    exhaustive_if(lambda case: case != FIRST, TLC, slow=lambda case: case == FIRST),
    ids="-".join,
)
def test_tlc_accepts_the_text_and_finds_the_same_states_steps_events_and_rules(
    case: tuple[str, str], tmp_path: Path
) -> None:
    space = _explored(*case)
    found = tla.check(tmp_path, SPECIFICATION, _config(*case), dump="states")
    assert (found.distinct, found.generated, found.depth) == TLC[case]
    assert set(map(_member, found.states)) == set(space.nodes)

    text = _config(*case, view=False)
    found = tla.check(tmp_path, SPECIFICATION, text, dump="states")
    assert found.distinct == space.transition_count + 1
    # The initial state has no step. TLC lists a state twice when it checks a temporal property.
    steps = {_step(state) for state in found.states if state["rules"]}
    assert steps == _steps(space)
    assert Counter(rule for step in steps for rule in set(step[3])) == space.applied


def test_each_version_and_each_instance_is_in_the_table() -> None:
    assert list(TLC) == [(version, name) for version in VERSIONS for name in instances(version)]


def test_the_text_contains_the_translation_of_its_algorithm(tmp_path: Path) -> None:
    assert tla.translated(tmp_path, SPECIFICATION) == SPECIFICATION.read_text(encoding="utf-8")


def test_the_rules_of_the_text_are_those_of_the_tables() -> None:
    modules = (module.read_text(encoding="utf-8") for module in FOLDER.glob("*.tla"))
    named = {rule for text in modules for rule in RULE_ID.findall(tla.code(text))}
    assert named == {rule for version in VERSIONS.values() for rule in version.rules}


@pytest.mark.parametrize("name", instances("4.1"))
def test_each_cfg_has_the_constants_of_its_instance(name: str) -> None:
    consumer: Consumer = instances("2.7").get(name) or instances("4.1")[name]
    text = (FOLDER / f"{name}.cfg").read_text(encoding="utf-8")
    constants = dict(re.findall(r"^  (\w+) = (.*)$", text, re.MULTILINE))
    assert {constant: tla.parse(value) for constant, value in constants.items()} == {
        "Version": consumer.profile,
        "Cooperative": consumer.settings.cooperative,
        "Static": consumer.settings.static,
        "AutoCommit": consumer.settings.auto_commit,
        "CommitsEarly": consumer.commits_early,
        "Returns": consumer.settings.returns,
        "Assignments": frozenset(map(frozenset, consumer.assignments)),
        "Generations": consumer.generations,
    }


def test_every_cfg_has_every_invariant() -> None:
    texts = {file.stem: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.cfg")}
    assert set(texts) == set(instances("4.1"))
    assert len({text.partition(tla.LIST)[2] for text in texts.values()}) == 1
