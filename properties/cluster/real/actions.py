"""What is done to a real cluster, and random sequences of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final, NamedTuple

from groupcheck.model.brokers import (
    CANCEL,
    COMMIT,
    CREATE,
    DELETE,
    ELECT,
    EXPIRE,
    KILL,
    MOVE,
    NOBODY,
    REASSIGN,
    START,
    ClusterInput,
)
from groupcheck.properties.cluster.real.views import BROKERS, IDS, ClusterView

# What a specification does not have: a paused broker is one that takes no step.
PAUSE: Final = "a broker is paused"
RESUME: Final = "a paused broker goes on"
NAMES: Final = (
    *(START, KILL, EXPIRE, MOVE, CREATE, DELETE, ELECT, REASSIGN, CANCEL, COMMIT),
    *(PAUSE, RESUME),
)
OF_BROKER: Final = (START, KILL, EXPIRE, PAUSE, RESUME)
OF_TOPIC: Final = (CREATE, DELETE, ELECT, REASSIGN, CANCEL, COMMIT)
# By topic, its replicas, the preferred leader first.
ASSIGNMENTS: Final = ((1, 2), (3, 1, 2), (2,))
TARGETS: Final = ((2, 3), (1, 2), (3,))  # to which it is reassigned
FEWEST, MOST = 4, 8  # actions in a random sequence
AT_ONCE: Final = 0.35  # how many actions the next one follows at once

# How often an action is chosen, by its name: those that make something to lose, those that lose
# it, and most often those that are possible after another one only. First with ZooKeeper. Without
# it, sessions end by themselves, so that a broker may stay dead for several actions.
WEIGHTS: Final[dict[bool, dict[str, int]]] = {
    True: {
        START: 20,
        KILL: 2,
        EXPIRE: 1,
        MOVE: 2,
        CREATE: 2,
        DELETE: 3,
        ELECT: 1,
        REASSIGN: 4,
        CANCEL: 1,
        COMMIT: 4,
        PAUSE: 1,
        RESUME: 10,
    },
    False: {
        START: 5,
        KILL: 3,
        CREATE: 2,
        DELETE: 2,
        ELECT: 1,
        REASSIGN: 4,
        CANCEL: 1,
        COMMIT: 4,
        PAUSE: 2,
        RESUME: 4,
    },
}
OF_A_DEAD_BROKER: Final = 15  # the end of its session, which lets the others go on


class Action(NamedTuple):
    """An action of a sequence.

    Args:
        given: what is done.
        at_once: whether the next action follows at once, before the cluster has settled.
    """

    given: ClusterInput
    at_once: bool = False

    def __str__(self) -> str:
        return f"{self.given}{', and at once' * self.at_once}"


class Simulated(NamedTuple):
    """What decides which actions are possible: a guess of where a sequence leads.

    Args:
        running: by broker, whether its process runs.
        paused: by broker, whether it is paused.
        sessions: by broker, whether it has a session with ZooKeeper.
        controller: whether the node `/controller` exists.
        topics: by topic, whether it exists.
        deletions: by topic, whether its deletion is pending.
        zookeeper: whether the cluster has one.
    """

    running: tuple[bool, ...]
    paused: tuple[bool, ...]
    sessions: tuple[bool, ...]
    controller: bool
    topics: tuple[bool, ...]
    deletions: tuple[bool, ...]
    zookeeper: bool = True


_BEGINNING: Final = Simulated(
    running=(True,) * BROKERS,
    paused=(False,) * BROKERS,
    sessions=(True,) * BROKERS,
    controller=True,
    topics=(False,) * len(ASSIGNMENTS),
    deletions=(False,) * len(ASSIGNMENTS),
)


def simulated(view: ClusterView) -> Simulated:
    """The part of a view that decides which actions are possible."""
    return Simulated(
        view.running,
        view.paused,
        tuple(map(bool, view.registered)),
        view.controller != NOBODY,
        tuple(topic is not None for topic in view.topics),
        view.deletions,
        view.zookeeper,
    )


def possible(given: ClusterInput, state: Simulated) -> bool:
    """Whether an action is possible.

    A broker is not started while ZooKeeper has the session of its killed predecessor: it would
    find its id taken, and end. Without ZooKeeper it waits for the end of that session.
    """
    at, topic = given.broker - 1, given.topic
    if given.name in OF_BROKER:
        running, paused = state.running[at], state.paused[at]
        return {
            START: not running and not (state.zookeeper and state.sessions[at]),
            KILL: running,
            EXPIRE: state.sessions[at],
            PAUSE: running and not paused,
            RESUME: paused,
        }[given.name]
    if given.name == MOVE:
        return state.controller
    exists = state.topics[topic]
    return {
        CREATE: not exists,
        DELETE: not state.deletions[topic],
        ELECT: exists and any(state.running),
        REASSIGN: exists and any(state.running),
        CANCEL: exists and any(state.running),
        COMMIT: exists and not state.deletions[topic] and any(state.running),
    }[given.name]


def names(*, zookeeper: bool) -> tuple[str, ...]:
    """The actions of a cluster with ZooKeeper, or of one without."""
    return tuple(name for name in NAMES if name in WEIGHTS[zookeeper])


def every_input(topics: int, *, zookeeper: bool = True) -> Iterator[ClusterInput]:
    """Every input, possible or not."""
    for name in names(zookeeper=zookeeper):
        if name in OF_BROKER:
            yield from (ClusterInput(name, broker=broker) for broker in IDS)
        elif name in OF_TOPIC:
            yield from (ClusterInput(name, topic=topic) for topic in range(topics))
        else:
            yield ClusterInput(name)


def random_sequence(random: Random, *, zookeeper: bool = True) -> tuple[Action, ...]:
    """A random sequence of possible actions; it begins with a topic."""
    topics = len(ASSIGNMENTS)
    inputs = tuple(every_input(topics, zookeeper=zookeeper))
    first = ClusterInput(CREATE, topic=random.randrange(topics))
    actions, state = [Action(first)], after(_BEGINNING._replace(zookeeper=zookeeper), first)
    for _ in range(random.randint(FEWEST, MOST) - 1):
        able = [given for given in inputs if possible(given, state)]
        (given,) = random.choices(able, [_weight(each, able, state) for each in able])
        actions.append(Action(given, random.random() < AT_ONCE))
        state = after(state, given)
    return (*actions[:-1], actions[-1]._replace(at_once=False))


def _weight(given: ClusterInput, able: Sequence[ClusterInput], state: Simulated) -> float:
    """How often an input is chosen: the weight of its name is divided among those of that name."""
    weights = WEIGHTS[state.zookeeper]
    if given.name == EXPIRE:
        at = given.broker - 1
        dead = not state.running[at] or state.paused[at]
        return OF_A_DEAD_BROKER if dead else weights[EXPIRE]
    if given.name == DELETE and not state.topics[given.topic]:
        return weights[DELETE] / 9  # an unknown topic
    return weights[given.name] / sum(each.name == given.name for each in able)


def after(state: Simulated, given: ClusterInput) -> Simulated:
    """The state after an action, if the cluster does what it promises."""
    at, topic = given.broker - 1, given.topic
    changed = {
        START: lambda: state._replace(
            running=_with(state.running, at, value=True),
            sessions=_with(state.sessions, at, value=True),
        ),
        KILL: lambda: state._replace(
            running=_with(state.running, at, value=False),
            paused=_with(state.paused, at, value=False),
        ),
        # A broker that goes on gets a new session.
        EXPIRE: lambda: state._replace(
            sessions=_with(state.sessions, at, value=state.running[at] and not state.paused[at])
        ),
        PAUSE: lambda: state._replace(paused=_with(state.paused, at, value=True)),
        RESUME: lambda: state._replace(
            paused=_with(state.paused, at, value=False),
            sessions=_with(state.sessions, at, value=True),
        ),
        CREATE: lambda: state._replace(topics=_with(state.topics, topic, value=True)),
        DELETE: lambda: state._replace(deletions=_with(state.deletions, topic, value=True)),
    }
    return _settled(changed[given.name]() if given.name in changed else state)


def _settled(state: Simulated) -> Simulated:
    """End the deletions whose replicas are all there; without ZooKeeper, each."""
    everywhere = zip(ASSIGNMENTS, TARGETS, strict=True)
    for topic, (replicas, target) in enumerate(tuple(everywhere)[: len(state.topics)]):
        there = all(
            state.running[each - 1] and not state.paused[each - 1] for each in (*replicas, *target)
        )
        if state.deletions[topic] and (there or not state.topics[topic] or not state.zookeeper):
            state = state._replace(
                topics=_with(state.topics, topic, value=False),
                deletions=_with(state.deletions, topic, value=False),
            )
    return state


def _with(values: Sequence[bool], at: int, *, value: bool) -> tuple[bool, ...]:
    return (*values[:at], value, *values[at + 1 :])
