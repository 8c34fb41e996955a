"""Random walks find wrong answers, accept conforming ports, and repeat from the same seed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random

import pytest

from groupcheck.model.classic.instances.instance import instances, virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.vocabulary import Request
from groupcheck.properties.explored import virtual
from groupcheck.properties.generators import parallel_walks
from groupcheck.properties.generators.choices import CHOICES, Guide, uniform
from groupcheck.properties.generators.context import Choices, capabilities_of
from groupcheck.properties.generators.fuzzing import fuzz
from groupcheck.properties.generators.parallel_walks import ParallelWalks, Part
from groupcheck.properties.generators.precomputed import PrecomputedSteps
from groupcheck.properties.generators.walks import Walker
from groupcheck.properties.histories.recorded_replay import check_recorded
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Fault, Observation, Port, PortFailedError
from groupcheck.properties.ports.source import PortSource, port_source
from groupcheck.properties.result import Settings
from groupcheck.properties.run import Checks, replay
from groupcheck.properties.verify import Verification
from support.economy import few_or_many
from support.faults import MADE_UP, faulty_port
from support.model_port import ModelPort
from support.spaces import explored_once

PROFILE = PROFILES["2.7"]


@pytest.fixture(scope="module")
def precomputed() -> PrecomputedSteps:
    return PrecomputedSteps(explored_once(virtual_time_instances(PROFILE, 2)["storing"]))


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
def test_the_builtin_coordinator_conforms_in_instances_of_every_kind(profile: str) -> None:
    found = instances(PROFILES[profile], 1)
    for name in ("membership", "static", "crowded", "failing", "failover", "transactions"):
        precomputed = PrecomputedSteps(explored_once(found[name]))
        walker, guide = Walker(precomputed, BuiltinPort(1)), Guide(precomputed, Random(0))
        assert all(walker.walk(guide, 60)[1] is None for _ in range(20)), name


@pytest.mark.parametrize("choice", CHOICES)
def test_conforming_port_that_takes_any_branch_and_hides_its_state_has_no_finding(
    choice: str, precomputed: PrecomputedSteps
) -> None:
    random = Random(0)
    walker = Walker(precomputed, ModelPort(1))
    choose = CHOICES[choice](precomputed, random)
    assert all(walker.walk(choose, 60)[1] is None for _ in range(60))


def test_a_walk_has_the_state_that_the_oracle_determines(precomputed: PrecomputedSteps) -> None:
    walker, choose = Walker(precomputed, BuiltinPort(3)), uniform(precomputed, Random(3))
    for _ in range(40):
        walker.walk(choose, 60)
        checks = Checks(PROFILE, precomputed.space.instance.broker)
        for each in walker.record:
            check_recorded(checks, each)
        nodes = {
            precomputed.space.numbers[precomputed.space.canonical(s).node]
            for s in checks.oracle.states
        }
        assert nodes == {walker.node}
    assert walker.asked == 0


@pytest.mark.slow
def test_a_guided_walk_covers_more_than_a_random_one(precomputed: PrecomputedSteps) -> None:
    shown = {}
    for name, choice in CHOICES.items():
        random = Random(1)
        walker, choose = Walker(precomputed, BuiltinPort(1)), choice(precomputed, random)
        for _ in range(170):
            walker.walk(choose, 60)
        shown[name] = sum(map(bool, walker.times))
    assert shown["guided"] > 1.5 * shown["uniform"]


@pytest.mark.parametrize("fault", MADE_UP)
def test_a_fault_is_found_by_walks_and_its_finding_replays(fault: str) -> None:
    instance = virtual(PROFILE, Settings())[MADE_UP[fault].instance]
    precomputed = PrecomputedSteps(explored_once(instance))
    walker, guide = Walker(precomputed, faulty_port(fault)), Guide(precomputed, Random(0))
    found = [f for _ in range(100) if (f := walker.walk(guide, 60)[1]) is not None]
    again = replay(found[0].sequence, faulty_port(fault))
    assert again is not None
    assert again.key == found[0].key


CRASHED = PortFailedError("port crashed", "it fell over")


class Failing(ModelPort):
    """Fails after some steps, or when a test begins or ends."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where
        self.left = 20

    def _fail(self, where: str) -> None:
        if where == self.where:
            self.left -= 1
            if self.left < 0 or where != "request":
                raise CRASHED

    def open(self, profile, config):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
        self._fail("open")
        return super().open(profile, config)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        self._fail("request")
        return super().request(request, expected)

    def close(self) -> None:
        self._fail("close")


@pytest.mark.parametrize("where", ["open", "request", "close"])
def test_a_port_that_fails_itself_is_a_finding(where: str, precomputed: PrecomputedSteps) -> None:
    walker, choose = Walker(precomputed, Failing(where)), uniform(precomputed, Random(0))
    found = [f for _ in range(5) if (f := walker.walk(choose, 60)[1]) is not None]
    assert found[0].failure is not None
    assert found[0].during == ("" if where == "request" else where)
    assert bool(found[0].sequence.steps) == (where != "open")


class NoFaults(ModelPort):
    """Supports no faults."""

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        del expected
        return Observation(unsupported=fault.name)


def test_what_a_port_does_not_support_is_left_out_of_walks(precomputed: PrecomputedSteps) -> None:
    walker, choose = Walker(precomputed, NoFaults()), uniform(precomputed, Random(0))
    assert all(walker.walk(choose, 60)[1] is None for _ in range(20))
    assert set(walker.unsupported.values()) == {"holdAppends"}


def _bulk(
    connect: Callable[[], Port], walks: int, precomputed: PrecomputedSteps, *, typed: bool = False
) -> ParallelWalks:
    source = port_source("builtin", seed=7) if typed else PortSource("port", connect)
    return ParallelWalks(source, PROFILE, {"storing": precomputed}, 7, walks, 40)


def test_walks_are_the_same_whichever_process_does_them(
    precomputed: PrecomputedSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel_walks, "STEPS_PER_PROCESS", 1_000)
    todo = _bulk(ModelPort, 120, precomputed, typed=True)
    alone, together = list(todo.run(1)), list(todo.run(2))
    assert alone == together
    assert sum(part.walks for part in alone) == 120


def test_walks_beyond_the_explored_instances_accept_a_conforming_port(
    precomputed: PrecomputedSteps,
) -> None:
    parts: list[Part] = list(_bulk(lambda: ModelPort(5), 100, precomputed).run(1))
    assert [finding for part in parts for finding in part.findings] == []
    applied = {rule for part in parts for rule in part.applied}
    # That instance has no static members, transactions, crashes and so on.
    assert len(applied - set(precomputed.space.applied)) > 15


@pytest.mark.parametrize("walks", few_or_many(40, 150))
@pytest.mark.parametrize("profile", ["2.7", "4.1"])
def test_the_builtin_coordinator_conforms_wherever_walks_lead(profile: str, walks: int) -> None:
    port = BuiltinPort(1)
    capabilities = capabilities_of(port, PROFILES[profile])
    for seed in range(walks):
        assert fuzz(port, PROFILES[profile], capabilities, Random(seed), 60).finding is None


def test_choice_is_split_into_smaller_numbers() -> None:
    choices = Choices(3 + 4 * (2 + 5 * 1))
    assert [choices.of(4), choices.of(5), choices.of(2), choices.of(9)] == [3, 2, 1, 0]


@pytest.mark.slow
def test_walks_minimise_findings_and_report_each_once() -> None:
    fault = "a heartbeat from an old generation is accepted"
    settings = Settings(members=1, examples=0, walks=50)
    source = PortSource("port", lambda: faulty_port(fault))
    result = Verification(source, settings).run()
    assert not result.conforms
    assert len({f.finding_id for f in result.findings}) == len(result.findings)
    assert len({f.key for f in result.findings}) == len(result.findings)
