"""A port whose timers last another time than Kafka's has one cause."""

from __future__ import annotations

from typing import Final

import pytest

from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.implementation.core.member import JoinTimer, Member, Pending
from groupcheck.implementation.core.timers import Timer, Timers
from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.rules.timers import EARLY, LATE
from groupcheck.model.classic.state import Advance
from groupcheck.model.classic.transition import successors
from groupcheck.model.engine.edits import SetBehaviour
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings
from groupcheck.properties.verify import Verification
from support.economy import slow_if
from support.faults import FaultyPort
from support.faults.fault import Fault
from support.spaces import explored, together

BEHAVIOURS: Final = {each.name for each in (*EARLY.values(), *LATE.values())}
SESSIONS_EARLY, SESSIONS_LATE = "session-timers-fire-early", "session-timers-fire-late"
CASES: Final = [
    (Member, 0.5, SESSIONS_EARLY),
    (Member, 0.1, SESSIONS_EARLY),
    (Member, 1.5, SESSIONS_LATE),
    (Member, 2.0, SESSIONS_LATE),
    (Pending, 0.5, "pending-id-timers-fire-early"),
    (JoinTimer, 0.5, "join-timer-fires-early"),
    (JoinTimer, 2.0, "join-timer-fires-late"),
]


def _port(kind: type[Timer], times: float) -> FaultyPort:
    """The built-in coordinator; its timers of a kind last so many times as long."""

    class Other(Timers):
        __slots__ = ()

        def set(self, timer: Timer, delay_ms: int) -> None:
            super().set(timer, int(delay_ms * times) if type(timer) is kind else delay_ms)

    def put_in(coordinator: Coordinator) -> None:
        coordinator._timers.__class__ = Other

    return FaultyPort(Fault("timers", "2.7", "", "membership", put_in, lambda _copy: None))


@pytest.mark.parametrize("case", slow_if(lambda case: case != CASES[0], CASES), ids=str)
def test_timers_that_fire_too_early_or_too_late_have_one_cause(
    case: tuple[type[Timer], float, str],
) -> None:
    kind, times, cause = case
    given = together({"membership": virtual_time_instances(PROFILES["2.7"], 2)["membership"]})
    source = PortSource("timers", lambda: _port(kind, times))
    # Walks let more time pass at once: another timer may then start in between, and fire too.
    settings = Settings(examples=0, walks=100 if kind is Member else 0)
    result = Verification(source, settings, given=given).run()
    assert [finding.cause for finding in result.findings] == [SetBehaviour(cause, holds=True)]


@pytest.mark.parametrize("name", sorted(BEHAVIOURS))
def test_a_model_whose_timers_may_fire_at_other_times_also_allows_all_that_kafka_allows(
    name: str,
) -> None:
    space = explored("2.7", "membership")
    model = deviating(PROFILES["2.7"], (SetBehaviour(name, holds=True),))
    more = 0
    for state, edges in zip(space.nodes, space.edges, strict=True):
        for given in {edge.given for edge in edges if isinstance(edge.given, Advance)}:
            config = space.instance.config
            ours = {*successors(state, given, PROFILES["2.7"], config)}
            theirs = {*successors(state, given, model, config)}
            assert ours <= theirs
            more += len(theirs - ours)
    assert more
