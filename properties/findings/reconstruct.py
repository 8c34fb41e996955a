"""Reconstructs the model's states along a finding."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.classic.state import Coordinator
from groupcheck.model.classic.step import Outcome
from groupcheck.model.engine.edits import plain
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.properties.oracle import DivergedError, Oracle
from groupcheck.properties.tolerances import Tolerances


def reconstruct(finding: Finding) -> tuple[Coordinator, tuple[Outcome, ...]]:
    """The initial state, and the outcome of each step.

    All but the last match the observations; the last is the nearest allowed outcome.
    """
    accepted, last = finding.exchanges[:-1], finding.exchanges[-1:]
    late_ms, early_ms = finding.config.timer_late_ms, finding.config.timer_early_ms
    tolerances = Tolerances(late_ms, early_ms) if late_ms else None
    oracle = Oracle(finding.sequence.model, finding.sequence.broker, tolerances)
    before: list[Oracle] = []
    for exchange in accepted:
        before.append(oracle.copied())
        _accept(oracle, exchange)
    outcome = finding.outcome or next(iter(finding.allowed), None)
    ways: list[Outcome] = []
    state = oracle.states[0]
    if last and outcome is not None:
        ways = [outcome]
        state = next((s for s in oracle.states if outcome in _allowed(oracle, s, last[0])), state)
    for exchange, there in zip(accepted[::-1], before[::-1], strict=True):
        state, taken = next(_ways_to(state, exchange, there))
        ways.append(taken)
    if finding.sequence.deviations:
        return plain(state), plain(tuple(ways[::-1]))
    return state, tuple(ways[::-1])


def _accept(oracle: Oracle, exchange: Exchange) -> bool:
    try:
        oracle.follow(exchange.given, exchange.seen)
    except DivergedError:
        return False
    return True


def _allowed(oracle: Oracle, state: Coordinator, exchange: Exchange) -> tuple[Outcome, ...]:
    """The allowed outcomes in a state; on a real clock, within the elapsed time."""
    one = oracle.copied(state)
    allowed = one.predict(exchange.given)
    try:
        one.accept(exchange.given, allowed, exchange.seen)
    except DivergedError as diverged:
        return diverged.rejection.outcomes
    return tuple(allowed)  # the port failed, so there is no observation to check


def _ways_to(
    after: Coordinator, exchange: Exchange, before: Oracle
) -> Iterator[tuple[Coordinator, Outcome]]:
    """The states before a step that lead to the state after it, with the outcomes."""
    for state in before.states:
        one = before.copied(state)
        if _accept(one, exchange):
            yield from ((state, kept) for kept in one.kept if kept.coordinator == after)
