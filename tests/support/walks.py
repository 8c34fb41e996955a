"""Walks: of the model through an instance, and of a coordinator and the model in lockstep.

A random walk chooses its steps among the inputs of the model's state. In lockstep it has all
features together, and any time between the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any, Final, NamedTuple

from groupcheck.model.classic.instances.inputs import faults
from groupcheck.model.classic.instances.instance import Instance, composed, supported
from groupcheck.model.classic.state import Advance, Coordinator
from groupcheck.model.classic.step import Outcome, Profile
from groupcheck.model.classic.storing.appended import Appended
from groupcheck.model.classic.transition import Input, appending
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.vocabulary import OffsetCommitRequest, Request, TxnOffsetCommitRequest
from groupcheck.properties.coverage.transition_coverage import Coverage
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.generators.context import capabilities_of
from groupcheck.properties.generators.fuzzing import fuzz
from groupcheck.properties.generators.tour import stepper, tour
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import FoundError, Run, UnfairError

STEPS: Final = 60  # of one sequence
RETENTION: Final = {"offsets.retention.minutes": 5}


class Step(NamedTuple):
    """An input of the model, the state before it, its outcome, and the records it appends."""

    number: int
    before: Coordinator
    given: Input
    outcome: Outcome
    records: tuple[Appended, ...]


def walk(instance: Instance, pick: Random, steps: int) -> Iterator[Step]:
    """A random walk of the model through an instance; inputs without an outcome are left out."""
    state = instance.initial
    for number in range(1, steps + 1):
        form = instance.canonical(state)
        given = pick.choice(list(instance.inputs(form.node)))
        if isinstance(given, Request):
            given = form.restore(given, number)
        allowed = [
            (outcome, records)
            for outcome, records in appending(state, given, instance.profile, instance.config)
            if instance.admits(outcome.coordinator)
        ]
        if allowed:
            outcome, records = pick.choice(allowed)
            yield Step(number, state, given, outcome, records)
            state = outcome.coordinator


class Walked(NamedTuple):
    """The steps of a coordinator and the model in lockstep, and the first finding, if any."""

    steps: int
    finding: Finding | None


def toured(space: StateSpace, seed: int = 1, port: Port | None = None) -> Walked:
    """A tour of all transitions of a model instance that the coordinator's choices lead to."""
    steps, port = 0, port or BuiltinPort(seed)
    coverage = Coverage(space, Random(seed))
    for walked, finding, *_ in tour(coverage, stepper(coverage, port), STEPS):
        steps += walked
        if finding is not None:
            return Walked(steps, finding)
    return Walked(steps, None)


def everything(profile: Profile, members: int) -> list[Instance]:
    """Instances far too large to explore: all features of the version, with and without a limit of
    members.
    """
    features = supported(profile)
    found = [composed(profile, members, each) for each in (features, features - {"max-size"})]
    return [each._replace(settings={**each.settings, **RETENTION}) for each in found]


def fuzzed(instance: Instance, seed: int, steps: int, port: Port | None = None) -> Walked:
    """A number of random steps in sequences of 60."""
    pick = Random(seed)
    done, port = 0, port or BuiltinPort(seed)
    while done < steps:
        run = Run(port, instance.profile, instance.broker)
        try:
            for number in range(1, STEPS + 1):
                given = random_input(instance, pick.choice(run.oracle.states), pick, number)
                with suppress(UnfairError):  # of a loaded member whose id was never revealed
                    run.step(given)
                done += 1
        except FoundError as found:
            return Walked(done, found.finding)
    return Walked(done, None)


def fuzzed_far(profile: Profile, seed: int, walks: int, port: Port) -> Walked:
    """A number of random walks of 60 steps, as in a verification."""
    done, capabilities, pick = 0, capabilities_of(port, profile), Random(seed)
    for _ in range(walks):
        walk = fuzz(port, profile, capabilities, pick, STEPS)
        done += walk.steps
        if walk.finding is not None:
            return Walked(done, walk.finding)
    return Walked(done, None)


def random_input(
    instance: Instance,
    state: Coordinator,
    pick: Random,
    number: int,
    narrow: Callable[[list[Any], Coordinator], list[Any]] = lambda options, _state: options,
) -> Input:
    """An input of a state: time that passes, seldom a fault, mostly a request.

    `narrow` leaves some of the faults, or of the requests, in a canonical state.
    """
    form, chance = instance.canonical(state), pick.random()
    found: list[Input] = []
    if 0.15 <= chance < 0.25:
        found = list(faults(form.node, instance.features, instance.profile))
    elif chance >= 0.25:
        found = [given for given in instance.inputs(form.node) if isinstance(given, Request)]
    found = narrow(found, form.node)
    if not found:
        return Advance(pick.choice((instance.tick_ms, instance.tick_ms // 3, 1)))
    given = pick.choice(found)
    return _distinct(form.restore(given, number)) if isinstance(given, Request) else given


def _distinct(given: Request) -> Request:
    """The same, each commit with a different offset.

    Kafka cannot distinguish two equal commits of one millisecond; the model can, which matters if
    the first one fails.
    """
    body = given.body
    if not isinstance(body, OffsetCommitRequest | TxnOffsetCommitRequest):
        return given
    named: Any = body.topics
    topics: Any = (
        topic._replace(
            partitions=tuple(
                partition._replace(committed_offset=given.request_id)
                for partition in topic.partitions
            )
        )
        for topic in named
    )
    return given._replace(body=body._replace(topics=tuple(topics)))
