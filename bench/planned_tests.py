"""Plans a test for each part of the rules that no recorded test confirms, and plays it on a broker.

A part is a rule, a guard or an effect. The plan is a shortest sequence of requests and times in
which the model without the part answers differently, in one of the instances for a broker on a real
clock. A part for which no instance has such a sequence is about faults that a client cannot cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from typing import Final, NamedTuple

from recorded_brokers import conforming

from groupcheck.model.classic.config import CLEANUP_INTERVAL, RETENTION
from groupcheck.model.classic.exploring.canonical import rename
from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.model.classic.instances.instance import DELAY, Instance
from groupcheck.model.classic.instances.real_time import real_time_instances
from groupcheck.model.classic.state import Advance
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.edits import Edit
from groupcheck.model.vocabulary import Request
from groupcheck.properties.brokers.catalogue import definitions
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.deviations.observed import ObservedTest
from groupcheck.properties.explored import space_of
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.histories.recorded_tests import RecordedTest
from groupcheck.properties.long_runs.timers import timed_instances
from groupcheck.properties.ports.numbering import first_generation
from groupcheck.properties.ports.source import PortSource, port_source
from groupcheck.properties.run import FoundError, Run, UnfairError
from groupcheck.properties.tolerances import LONG_RUN
from support.product import Known, Planned, Product, UndecidedError, known

MEMBERS: Final = 2
MOST_PAIRS: Final = 200  # of the search for a sequence
TRIES: Final = 3  # a broker that may choose can leave the plan
CONCURRENT: Final = 40
SIZE: Final = "group.max.size"
# Settings of the brokers besides the usual ones: each broker plays the instances for its settings.
BROKERS: Final[tuple[Mapping[str, int], ...]] = (
    {},
    {SIZE: MEMBERS},
    {SIZE: 1},
    {DELAY: 3_000},
    {RETENTION: 1, CLEANUP_INTERVAL: 1_000},
)


class Plan(NamedTuple):
    """Steps that show an edit in one of the explored instances, by its number."""

    space: int
    steps: tuple[Planned, ...]


class Space(NamedTuple):
    """An explored instance, for a broker with these settings besides the usual ones."""

    broker: Mapping[str, int]
    known: Known


Plans = Mapping[Edit, Plan]


def spaces(spec: str, profile: Profile) -> list[Space]:
    """The explored instances, the smallest first."""
    definition = definitions()[spec]
    usual = {**definition.unreported, **definition.settings}
    found = [
        Space(broker, known(space_of(instance)))
        for broker in BROKERS
        if broker.keys() <= {*definition.settings, *definition.optional}
        for instance in _instances(profile, broker, {**usual, **broker})
    ]
    return sorted(found, key=lambda each: each.known.space.transition_count)


def _instances(
    profile: Profile, broker: Mapping[str, int], settings: Mapping[str, int]
) -> Iterable[Instance]:
    """The instances that a broker with these settings can play."""
    if CLEANUP_INTERVAL in broker:
        return timed_instances(profile, 1, settings).values()
    untimed = real_time_instances(profile, MEMBERS, settings)
    order = untimed["order"]
    if SIZE in broker:
        both = order.features | {Feature.MAX_SIZE, Feature.STATIC_MEMBERS}
        features = both - {Feature.OFFSETS, Feature.METADATA}
        return [order._replace(members=broker[SIZE] + 1, features=features)]
    if DELAY in broker:
        return [order._replace(features=frozenset({Feature.METADATA}))]
    return [*untimed.values(), *timed_instances(profile, MEMBERS, settings).values()]


def plan_of(edit: Edit, given: Sequence[Space]) -> Plan | None:
    """A shortest plan in the first instance that shows the edit; None if there is none.

    Raises:
        UndecidedError: no instance that could be searched in full shows it.
    """
    undecided = False
    for number, (_, space) in enumerate(given):
        if not space.may_show(edit):
            continue
        try:
            steps = Product.of(space, edit, MOST_PAIRS).path()
        except UndecidedError:
            undecided = True
            continue
        if steps is not None:
            return Plan(number, steps)
    if undecided:
        raise UndecidedError
    return None


class Played(NamedTuple):
    """A test of a broker, the symbols of its member ids, and the edits that it rejects."""

    test: RecordedTest
    names: Mapping[str, str]
    rejects: list[Edit]


def played(
    spec: str, given: Sequence[Space], every: Plans, differs: Callable[[Finding], None]
) -> Iterator[Played]:
    """Play the plans on brokers, each several times if needed; yields the tests that reject edits.

    `differs` receives the findings of the other tests.
    """
    for broker in BROKERS:
        mine: dict[Plan, list[Edit]] = {}
        for edit, plan in every.items():
            if given[plan.space].broker == broker:
                mine.setdefault(plan, []).append(edit)
        if not mine:
            continue
        query = "&".join(f"{name}={value}" for name, value in broker.items())
        source = port_source(f"{spec}?{query}" if query else spec, tolerances=LONG_RUN)

        def tests_of(planned: tuple[Plan, list[Edit]], on: PortSource = source) -> list[Played]:
            plan, edits = planned
            instance = given[plan.space].known.instance
            return list(_tests(spec, on, instance, plan.steps, edits, differs))

        try:
            source.connect().shutdown()  # starts the broker
            with ThreadPoolExecutor(CONCURRENT) as pool:
                yield from chain.from_iterable(pool.map(tests_of, mine.items()))
        finally:
            source.stop()


def _tests(  # noqa: PLR0913, PLR0917 - of one plan
    spec: str,
    source: PortSource,
    instance: Instance,
    steps: Sequence[Planned],
    edits: Sequence[Edit],
    differs: Callable[[Finding], None],
) -> Iterator[Played]:
    left, profile = list(edits), instance.profile
    for _ in range(TRIES):
        run = _run(source, instance, steps)
        if run is None:
            continue
        test = ObservedTest(run.broker, run.observed, LONG_RUN, first_generation(profile))
        for recorded in conforming([RecordedTest(spec, profile, test)], differs):
            kept = recorded.test
            rejects = [each for each in left if not kept.allowed_by(deviating(profile, (each,)))]
            if rejects:
                yield Played(recorded, run.oracle.names, rejects)
            left = [each for each in left if each not in rejects]
        if not left:
            return


def _run(source: PortSource, instance: Instance, steps: Sequence[Planned]) -> Run | None:
    """Play a plan, as far as the broker follows it; None if the broker fails at the start."""
    port = source.connect()
    try:
        run = Run(port, instance.profile, source.broker_settings().values)
        with suppress(FoundError, UnfairError):
            for number, step in enumerate(steps, 1):
                run.step(_given(step, instance, run, number))
            run.close()
    except FoundError:  # when it was opened
        return None
    else:
        return run
    finally:
        port.shutdown()


def _given(step: Planned, instance: Instance, run: Run, number: int) -> Input:
    """The input of a step in the names of a test."""
    here = run.oracle.states[0]
    if not isinstance(step.given, Request):
        timer = here.group and here.group.join_timer
        is_delay = isinstance(step.given, Advance) and not instance.timed
        return Advance(timer.round_ms if timer else 0) if is_delay else step.given
    plan = instance.canonical(step.state)
    body = rename(step.given.body, plan.names, -plan.generation_offset)
    given: Input = instance.canonical(here).restore(step.given._replace(body=body), number)
    return given
