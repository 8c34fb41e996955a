"""Actions without a request: passing time, and faults of a coordinator and its log."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.classic.instances.inputs import SIZES, EnvironmentInput
from groupcheck.model.classic.state import (
    STOPPED_MS,
    Advance,
    Cleanup,
    Configure,
    Crash,
    FailAppends,
    Group,
    HoldAppends,
    Load,
    Loading,
    ReleaseAppends,
    Serving,
    Shutdown,
    Unload,
)
from groupcheck.model.classic.transition import Input
from groupcheck.properties.generators.context import Choices, Context


def advance(context: Context, choices: Choices) -> Input:
    """Advance time to the expiry of a running timer, or to a millisecond before or after it."""
    left = [*sorted(set(_timers(context.group)) - {STOPPED_MS}), 1_000]
    around = (0, 0, -1, 1)[choices.of(4)]
    return Advance(max(left[choices.of(31) % len(left)] + around, 0))


def _timers(group: Group) -> Iterator[int]:
    yield from (m.session_left_ms for m in group.members if m.session_left_ms is not None)
    yield from (p.left_ms for p in group.pending)
    if group.join_timer is not None:
        yield group.join_timer.left_ms
    if group.sync_left_ms is not None:
        yield group.sync_left_ms


def may_hold(context: Context) -> bool:
    """Whether appends can be held from now on."""
    return "holdAppends" in context.capabilities.faults and not context.state.holding


def hold(_context: Context, _choices: Choices) -> Input:
    """From now on appends do not complete."""
    return HoldAppends()


def may_release(context: Context) -> bool:
    """Whether appends are held."""
    return context.state.holding


def release(_context: Context, _choices: Choices) -> Input:
    """The held appends complete."""
    return ReleaseAppends()


def may_fail(context: Context) -> bool:
    """Whether the port can make appends fail, and no append is failing."""
    return "append" in context.capabilities.faults and context.state.failing is None


def fail(context: Context, choices: Choices) -> Input:
    """The next appends fail."""
    errors = context.capabilities.errors
    return FailAppends((1, 1, 2, 3)[choices.of(4)], errors[choices.of(len(errors))])


def may_happen(context: Context) -> bool:
    """Whether the port supports any fault of the coordinator."""
    return not context.capabilities.faults.isdisjoint(
        {"cleanup", "crash", "unload", "load", "loading"}
    )


def happen(context: Context, choices: Choices) -> Input | None:
    """Clean up, crash the coordinator, or unload its partition, which is mostly loaded again."""
    faults, state = context.capabilities.faults, context.state
    likely: list[tuple[str, EnvironmentInput]] = [("cleanup", Cleanup()), ("crash", Crash())]
    if not state.active:
        likely = [("crash", Crash())] * 2 + [("unload", Unload())]
    elif state.serving is not Serving.SERVED:
        likely = [("load", Load())] * 4 + [("loading", Loading()), *likely]
        likely += [("configure", Configure(size)) for size in SIZES]
    else:
        likely += [*likely, ("unload", Unload()), ("loading", Loading()), ("shutdown", Shutdown())]
    can = [fault for name, fault in likely if name in faults]
    return can[choices.of(len(can))] if can else None
