"""TLC and the explorer find the same in the specification of a cluster.

Two runs of TLC are compared for each instance. With the VIEW: the states, the transitions and the
depth. Without it a state has the step that leads to it, so that its states are the transitions:
what was before, the input, the rules in their order, and what is after.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from groupcheck.model.brokers import (
    Assignment,
    ClusterInput,
    Nodes,
    Partition,
    Request,
    TopicRequest,
)
from groupcheck.model.cluster.specification import VERSIONS, Brokers, instances
from groupcheck.model.cluster.state import (
    Broker,
    Cluster,
    Controller,
    Coordinator,
    Event,
    Replica,
    Settings,
    Topic,
)
from groupcheck.model.engine.exploration import StateSpace, explore
from groupcheck.model.engine.statistics import statistics
from support import tla
from support.economy import exhaustive_if
from support.marked_tests import ROOT

FOLDER: Final = ROOT / "model" / "cluster"
SPECIFICATION: Final = FOLDER / "Cluster.tla"
RULE_ID: Final = re.compile(r'"([a-z-]+/[a-z-]+)"')

# Instance -> what TLC reports: distinct states, states generated, depth.
TLC: Final = {
    "election-2": (877, 1_753, 14),
    "election-3": (18_143, 49_561, 18),
    "leaders": (13_232, 49_951, 23),
    "leaders-3": (4_438, 15_655, 18),
    "unclean": (4_548, 17_704, 22),
    "isr": (23_617, 90_696, 28),
    "isr-sessions": (11_020, 38_586, 29),
    "preferred": (10_714, 46_031, 23),
    "fencing": (71_924, 245_228, 26),
    "creation": (1_582, 4_927, 17),
    "deletion": (10_250, 44_730, 23),
    "deletion-moves": (11_336, 46_358, 23),
    "deletions": (20_953, 83_083, 24),
    "groups": (2_256, 7_050, 22),
    "offsets": (26_413, 122_443, 33),
    "reassignment": (23_493, 97_057, 28),
    "reassignment-3": (1_995, 6_052, 24),
    "reassignment-cancel": (888, 2_188, 20),
    "reassignment-deletion": (665, 1_615, 20),
    "leaders-2.4": (13_232, 49_951, 23),
    "isr-2.4": (62_420, 257_609, 29),
    "isr-sessions-2.4": (11_277, 38_010, 31),
    "deletion-2.4": (10_490, 45_734, 23),
    "deletions-2.4": (21_019, 83_300, 24),
    "groups-2.4": (2_256, 7_050, 22),
    "offsets-2.4": (26_461, 122_631, 33),
    "reassignment-2.4": (85_557, 427_163, 32),
    "reassignment-3-2.4": (6_863, 30_853, 27),
    "reassignment-cancel-2.4": (2_768, 8_413, 22),
    "reassignment-deletion-2.4": (2_214, 6_692, 22),
}
# The exhaustive tests run TLC on all instances but this one; the steps are compared one by one in
# instances with fewer.
FIRST: Final = "election-2"
MANY_STEPS: Final = 50_000
LARGE: Final = 5_000  # states
# The value of the constant in the .cfg, which cannot have sequences.
TOPICS: Final = {
    (): "NoTopics",
    ((1, 2),): "OneTopic",
    ((1, 2, 3),): "ThreeReplicas",
    ((2,),): "OneReplica",
    ((1,), (2,)): "TwoTopics",
    ((1, 2), (1,)): "GroupsAndTopic",
    ((1,),): "FirstReplica",
}
TARGETS: Final = {(): "NoTargets", ((2,),): "ToSecond", ((2, 3),): "ToLastTwo"}

Step = tuple[Cluster, ClusterInput, tuple[str, ...], Cluster]


def _first_or_exhaustive(names: Iterable[str]) -> list[Any]:
    return exhaustive_if(lambda name: name != FIRST, names, slow=lambda name: name == FIRST)


@cache
def _explored(name: str) -> StateSpace:
    return explore(instances()[name])


def _config(name: str, *, view: bool = True) -> str:
    text = (FOLDER / f"{name}.cfg").read_text(encoding="utf-8")
    return text if view else text.replace("VIEW State\n", "")


def _steps(space: StateSpace) -> set[Step]:
    return {
        (space.nodes[source], edge.given, edge.applied, space.nodes[edge.target])
        for source, edges in enumerate(space.edges)
        for edge in edges
    }


def _fields(record: tla.Value) -> dict[str, Any]:
    """The fields of a record of TLA+, with the names that they have in Python."""
    return {re.sub("([A-Z])", r"_\1", name).lower(): value for name, value in record}


def _numbers(topics: tla.Value) -> tuple[int, ...]:
    """Topics have the numbers 1, 2, ... in TLA+."""
    return tuple(topic - 1 for topic in topics)


@cache
def _partition(record: tla.Value) -> Partition | None:
    return Partition(**_fields(record)) if record else None


@cache
def _request(record: tla.Value) -> Request:
    found = _fields(record)
    topics = (TopicRequest(**_fields(topic)) for topic in found.pop("topics"))
    return Request(**found, topics=tuple(topic._replace(topic=topic.topic - 1) for topic in topics))


@cache
def _event(record: tla.Value) -> Event:
    found = Event(**_fields(record))
    return found._replace(topics=_numbers(found.topics), partition=_partition(found.partition))


@cache
def _topic(record: tla.Value) -> Topic:
    found = Topic(**_fields(record))
    return found._replace(leadership=_partition(found.leadership))


@cache
def _controller(record: tla.Value) -> Controller | None:
    if not record:
        return None
    found = Controller(**_fields(record))
    return found._replace(
        topics=tuple(map(_topic, found.topics)),
        channels=tuple(tuple(map(_request, channel)) for channel in found.channels),
    )


@cache
def _broker(record: tla.Value) -> Broker:
    found = Broker(**_fields(record))
    return found._replace(
        queue=tuple(map(_event, found.queue)),
        controller=_controller(found.controller),
        replicas=tuple(Replica(**_fields(replica)) for replica in found.replicas),
        coordinator=Coordinator(**_fields(found.coordinator)),
        changed=_numbers(found.changed),
    )


@cache
def _nodes(record: tla.Value) -> Nodes:
    found = Nodes(**_fields(record))
    return found._replace(
        partitions=tuple(map(_partition, found.partitions)),
        assignments=tuple(Assignment(**_fields(each)) for each in found.assignments),
        announced=tuple(map(_numbers, found.announced)),
    )


def _cluster(state: Mapping[str, tla.Value]) -> Cluster:
    found = Cluster(*map(state.__getitem__, Cluster._fields))
    bag: tla.Value = found.orphans
    orphans = (request for record, count in bag for request in [_request(record)] * count)
    return found._replace(
        nodes=_nodes(found.nodes),
        brokers=tuple(map(_broker, found.brokers)),
        orphans=tuple(sorted(orphans)),
    )


def _input(record: tla.Value) -> ClusterInput:
    found = ClusterInput(**_fields(record))
    request = _request(found.request) if found.request else None
    return found._replace(topic=found.topic - 1, request=request)


def _step(state: Mapping[str, tla.Value]) -> Step:
    before = _cluster(dict(state["before"]))
    return before, _input(state["given"]), state["rules"], _cluster(state)


@pytest.mark.parametrize("name", exhaustive_if(lambda name: TLC[name][0] > LARGE, TLC))
def test_the_explorer_finds_the_states_the_transitions_and_the_depth_that_tlc_finds(
    name: str,
) -> None:
    found = statistics(_explored(name))
    assert (found.states, found.generated, found.depth + 1) == TLC[name]


@pytest.mark.parametrize("name", _first_or_exhaustive(TLC))
def test_tlc_accepts_the_text_and_finds_the_same_states(name: str, tmp_path: Path) -> None:
    space = _explored(name)
    found = tla.check(tmp_path, SPECIFICATION, _config(name), dump="states")
    assert (found.distinct, found.generated, found.depth) == TLC[name]
    assert set(map(_cluster, found.states)) == set(space.nodes)


@pytest.mark.parametrize(
    "name", _first_or_exhaustive(name for name in TLC if TLC[name][1] < MANY_STEPS)
)
def test_tlc_finds_the_same_steps_and_rules(name: str, tmp_path: Path) -> None:
    space = _explored(name)
    text = _config(name, view=False)
    found = tla.check(tmp_path, SPECIFICATION, text, dump="states")
    # The initial state has no step.
    steps = {_step(state) for state in found.states if state["before"]}
    assert steps == _steps(space)
    assert Counter(rule for step in steps for rule in set(step[2])) == space.applied


def test_each_instance_is_in_the_table() -> None:
    assert list(TLC) == list(instances())


def test_the_text_contains_the_translation_of_its_algorithm(tmp_path: Path) -> None:
    assert tla.translated(tmp_path, SPECIFICATION) == SPECIFICATION.read_text(encoding="utf-8")


def test_the_rules_of_the_text_are_those_of_the_tables() -> None:
    modules = (module.read_text(encoding="utf-8") for module in FOLDER.glob("*.tla"))
    named = {rule for text in modules for rule in RULE_ID.findall(tla.code(text))}
    assert named == {rule for version in VERSIONS.values() for rule in version.rules}


@pytest.mark.parametrize("name", instances())
def test_each_cfg_has_the_constants_of_its_instance(name: str) -> None:
    instance: Brokers = instances()[name]
    text = (FOLDER / f"{name}.cfg").read_text(encoding="utf-8")
    constants = dict(re.findall(r"^  (\w+) (?:=|<-) (.*)$", text, re.MULTILINE))
    topics, targets = instance.settings.topics, instance.settings.targets
    assert constants.pop("Topics") == TOPICS[topics]
    assert constants.pop("Targets") == TARGETS[targets]
    settings = {constant.lower(): tla.parse(value) for constant, value in constants.items()}
    assert Settings(**settings, topics=topics, targets=targets) == instance.settings
    assert {*settings, "topics", "targets"} == set(Settings._fields)


def test_the_topics_of_the_cfgs_are_those_of_the_instances() -> None:
    text = SPECIFICATION.read_text(encoding="utf-8")
    defined = dict(re.findall(r"^(\w+) +== (<<[<\d, >]*>>)$", text, re.MULTILINE))
    assert {name: tla.parse(value) for name, value in defined.items()} == {
        name: topics for names in (TOPICS, TARGETS) for topics, name in names.items()
    }


def test_every_cfg_has_every_invariant() -> None:
    texts = {file.stem: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.cfg")}
    assert set(texts) == set(instances())
    assert len({text.partition(tla.LIST)[2] for text in texts.values()}) == 1
