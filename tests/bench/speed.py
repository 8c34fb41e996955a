"""How fast the parts are, in one run: `python tests/bench/speed.py`.

Times are the best of three, because a machine that does something else can only be slower. The
last column of a row that grows says how its cost does.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from random import Random

from groupcheck.implementation.core.config import Config
from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.model.exploring.explorer import Space, explore
from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.clients import GROUP_ID
from groupcheck.model.spaces.instance import virtual_spaces
from groupcheck.model.vocabulary import HeartbeatRequest, JoinGroupRequest, Protocol, Request
from groupcheck.properties.coverage.edges_shown import Coverage
from groupcheck.properties.generators.machine import lockstep
from groupcheck.properties.generators.tour import tour
from groupcheck.properties.ports.builtin import BuiltinPort

PROFILE = PROFILES["2.7"]
HEARTBEATS = 200_000


def best_of_three(work: Callable[[], int]) -> tuple[int, float]:
    """What the work counted, and its shortest time in seconds."""
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        count = work()
        seconds.append(time.perf_counter() - started)
    return count, min(seconds)


def row(what: str, unit: str, count: int, seconds: float, note: str = "") -> None:
    """Print one figure."""
    print(f"{what:42} {count:>9,} {unit:6} {count / seconds:>11,.0f} {unit}/s  {note}")  # noqa: T201


def explorer() -> None:
    """Labelled edges explored, for more and more members."""
    for members in (1, 2, 3):
        spaces: list[Space] = []

        def work(members: int = members, spaces: list[Space] = spaces) -> int:
            spaces[:] = [explore(i) for i in virtual_spaces(PROFILE, members).values()]
            return sum(space.edge_count for space in spaces)

        count, seconds = best_of_three(work)
        states = sum(len(space.nodes) for space in spaces)
        row(f"explore, {members} members", "edges", count, seconds, f"{states:,} states")


def tours() -> None:
    """Steps of tours on the built-in coordinator."""
    spaces = [explore(instance) for instance in virtual_spaces(PROFILE, 2).values()]

    def work() -> int:
        port = BuiltinPort()
        return sum(
            steps for space in spaces for steps, _ in tour(Coverage(space, Random(0)), port, 60)
        )

    count, seconds = best_of_three(work)
    edges = sum(space.edge_count for space in spaces)
    row("tours, 2 members", "steps", count, seconds, f"{count / edges:.2f} steps an edge")


def state_machine() -> None:
    """Steps of the Hypothesis machine on the built-in coordinator."""

    def work() -> int:
        steps: list[int] = []
        lockstep(
            BuiltinPort(),
            PROFILE,
            examples=100,
            steps=60,
            seed_number=0,
            known=set(),
            tally=steps.append,
        )
        return sum(steps)

    row("state machine", "steps", *best_of_three(work))


def heartbeats() -> None:
    """Heartbeats handled, in larger and larger groups."""
    first = 0.0
    for members in (1, 100, 10_000):
        ids = iter(range(members))
        coordinator = Coordinator(
            Config(group_initial_rebalance_delay_ms=0),
            new_member_id=lambda _client, ids=ids: f"m{next(ids)}",  # type: ignore[misc]
        )
        body = JoinGroupRequest(GROUP_ID, 30_000, 60_000, protocols=(Protocol("range", b""),))
        for number in range(members):
            coordinator.receive(Request(number, 3, body))
        request = Request(
            0, 4, HeartbeatRequest(GROUP_ID, coordinator.views()[0].generation_id or 0, "m0")
        )

        def work(coordinator: Coordinator = coordinator, request: Request = request) -> int:
            for _ in range(HEARTBEATS):
                coordinator.receive(request)
            return HEARTBEATS

        count, seconds = best_of_three(work)
        first = first or seconds
        note = f"{seconds / first:.2f} times one member's"
        row(f"heartbeats, a group of {members:,}", "beats", count, seconds, note)


if __name__ == "__main__":
    gc.set_threshold(50_000)  # as the commands do
    explorer()
    tours()
    state_machine()
    heartbeats()
