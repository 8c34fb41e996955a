"""The built-in coordinator and the model in lockstep: tours of instances, and random walks.

A walk chooses its steps at random among all requests and faults that are possible in the model's
state, with all features together, and any time between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any, NamedTuple

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.instances.inputs import faults
from groupcheck.model.instances.instance import Instance, composed, supported
from groupcheck.model.state import Advance
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import OffsetCommitRequest, Request, TxnOffsetCommitRequest
from groupcheck.properties.coverage.transition_coverage import Coverage
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.generators.context import capabilities_of
from groupcheck.properties.generators.fuzzing import fuzz
from groupcheck.properties.generators.tour import tour
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import FoundError, Run, UnfairError

STEPS = 60  # of one sequence


class Walked(NamedTuple):
    """How far the two went together, and the first finding, if there is one."""

    steps: int
    finding: Finding | None


def toured(space: StateSpace, seed: int = 1, port: Port | None = None) -> Walked:
    """A tour of all transitions of a model instance that the coordinator's choices lead to."""
    steps, port = 0, port or BuiltinPort(seed)
    for walked, finding, _ in tour(Coverage(space, Random(seed)), port, STEPS):
        steps += walked
        if finding is not None:
            return Walked(steps, finding)
    return Walked(steps, None)


def everything(profile: Profile, members: int) -> list[Instance]:
    """Spaces far too large to be explored: all features that the version has, with time and not."""
    features = supported(profile)
    timed = composed(profile, members, features)
    instances = [timed, composed(profile, members, features - {"max-size"})]
    return [instance._replace(settings=_settings(instance)) for instance in instances]


def _settings(instance: Instance) -> dict[str, int]:
    return {**instance.settings, "offsets.retention.minutes": 5}


def fuzzed(instance: Instance, seed: int, steps: int, port: Port | None = None) -> Walked:
    """So many random steps in sequences of 60."""
    pick = Random(seed)
    done, port = 0, port or BuiltinPort(seed)
    while done < steps:
        run = Run(port, instance.profile, instance.broker)
        try:
            for given in _steps(instance, run, pick):
                with suppress(UnfairError):  # of a loaded member whose id was never revealed
                    run.step(given)
                done += 1
        except FoundError as found:
            return Walked(done, found.finding)
    return Walked(done, None)


def fuzzed_far(profile: Profile, seed: int, walks: int, port: Port) -> Walked:
    """So many random walks of 60 moves, as a verification has them."""
    done, capabilities, pick = 0, capabilities_of(port, profile), Random(seed)
    for _ in range(walks):
        walk = fuzz(port, profile, capabilities, pick, STEPS)
        done += walk.steps
        if walk.finding is not None:
            return Walked(done, walk.finding)
    return Walked(done, None)


def _steps(instance: Instance, run: Run, pick: Random) -> Iterator[Input]:
    """What is done next, chosen when it is asked for; seldom does anything happen to the port."""
    for number in range(1, STEPS + 1):
        state = pick.choice(run.oracle.states)
        frame = instance.canonical(state)
        chance = pick.random()
        if chance < 0.15:
            yield Advance(pick.choice((instance.tick_ms, instance.tick_ms // 3, 1)))
            continue
        options: list[Input] = (
            list(faults(frame.node, instance.features, instance.profile))
            if chance < 0.25
            else [given for given in instance.inputs(frame.node) if isinstance(given, Request)]
        )
        given = pick.choice(options)
        yield distinct(frame.restore(given, number)) if isinstance(given, Request) else given


def distinct(given: Request) -> Request:
    """The same, each commit with an offset of its own.

    Kafka takes two equal commits of one millisecond for one; the model tells them apart, which
    shows where the first of them fails.
    """
    body = given.body
    if not isinstance(body, OffsetCommitRequest | TxnOffsetCommitRequest):
        return given
    topics: Any = body.topics
    changed = tuple(
        topic._replace(
            partitions=tuple(
                partition._replace(committed_offset=given.request_id)
                for partition in topic.partitions
            )
        )
        for topic in topics
    )
    return given._replace(body=body._replace(topics=changed))
