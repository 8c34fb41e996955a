"""The product of Kafka's model and an edited one: whether a sequence distinguishes them.

A pair is a state of the edited model and the states of Kafka's model that gave the same responses.
The search goes through all pairs, breadth first, with the inputs of the instance in each of Kafka's
states. If each response of the edited model is one of Kafka's, no sequence shows the edit. Where
Kafka's model has edits of its own, it may add members without limit: a pair is left out if none of
its states of Kafka's model has members as the instance has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final, NamedTuple

from groupcheck.model.classic.exploring.canonical import ageless_state, untimed
from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.model.classic.instances.instance import Instance
from groupcheck.model.classic.state import Coordinator
from groupcheck.model.classic.step import Outcome, Profile
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.engine.edits import (
    ChangeAnswer,
    DropEffect,
    DropRule,
    Edit,
    Exchange,
)
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.vocabulary import API_OF, Request, Response
from groupcheck.properties.compare import normal
from groupcheck.properties.explored import rules_affected
from groupcheck.properties.long_runs.timers import Ticking

MOST_PAIRS: Final = 2_000  # of different states
_SYMBOL: Final = re.compile(r"[mpr#]\d+")
_REQUEST_IDS: Final = frozenset({"awaiting_join", "awaiting_sync", "request_id"})


class UndecidedError(Exception):
    """The product has too many pairs."""


class Move(NamedTuple):
    """An input of a state and its outcomes: the rules applied, and the states that it leads to.

    `targets` are their numbers, None if the responses do not determine the state, or if one of the
    states is not explored.
    """

    given: Input
    outcomes: tuple[Outcome, ...]
    rules: frozenset[str] = frozenset()
    targets: tuple[int, ...] | None = None


class Planned(NamedTuple):
    """A step of a sequence: a state in which Kafka may be, and an input in the names there."""

    state: Coordinator
    given: Input


class Known(NamedTuple):
    """An explored instance, with the moves of each state."""

    space: StateSpace
    moves: tuple[tuple[Move, ...], ...]
    rules: frozenset[str]  # that the moves apply

    def may_show(self, edit: Edit) -> bool:
        """Whether an edit changes the outcomes of a move."""
        profile = self.instance.profile
        only = only_with(profile, edit)
        rules = rules_affected(edit, profile.version) if only is None else {only}
        if rules and rules.isdisjoint(self.rules):
            return False
        edited, config = profile.edited(edit), self.instance.config
        return any(
            {each[:2] for each in move.outcomes}
            != {each[:2] for each in successors(node, move.given, edited, config)}
            for node, moves in zip(self.space.nodes, self.moves, strict=True)
            for move in moves
            if not rules or not rules.isdisjoint(move.rules)
        )

    @property
    def instance(self) -> Instance:
        """The instance."""
        found: Instance = self.space.instance
        return found


def known(space: StateSpace) -> Known:
    """The data of an instance that a product needs for any edit."""
    inputs = space.instance.inputs
    moves = tuple(tuple(_move(space, node, g) for g in inputs(node)) for node in space.nodes)
    rules = frozenset(rule for some in moves for move in some for rule in move.rules)
    return Known(space, moves, rules)


def _move(space: StateSpace, node: Coordinator, given: Input) -> Move:
    instance: Instance = space.instance
    outcomes = _outcomes(instance, node, given)
    states = [o.coordinator for o in outcomes if instance.admits(o.coordinator)]
    numbers = [_number(space, state) for state in states]
    targets = tuple(number for number in numbers if number is not None)
    is_certain = len(targets) == len(states) and _determine(instance.profile, outcomes, given)
    rules = frozenset(rule for o in outcomes for rule in (*o.applied, *o.reasons))
    return Move(given, tuple(outcomes), rules, targets if is_certain else None)


def _determine(profile: Profile, outcomes: list[Outcome], given: Input) -> bool:
    """Whether the responses determine the outcome."""
    if len(outcomes) < 2:
        return True
    return len({_normal(profile, o.responses, given) for o in outcomes}) == len(outcomes)


def _number(space: StateSpace, state: Coordinator) -> int | None:
    """The number of a state, most often a canonical one; None if it is not explored."""
    number = space.numbers.get(state)
    return space.numbers.get(space.canonical(state).node) if number is None else number


def only_with(profile: Profile, edit: Edit) -> str | None:
    """The rule without which a step is as it was before the edit; None if there is no such rule."""
    if isinstance(edit, Exchange):
        # Other edits may have moved a rule between the two, or dropped one of them.
        return edit.first if (edit.first, edit.second) in pairwise(profile.rules) else None
    if isinstance(edit, DropRule | ChangeAnswer | DropEffect) and edit.rule in profile.rules:
        return edit.rule
    return None


class _Pair(NamedTuple):
    """The edited state, Kafka's states, and the path of the search.

    Where the two are one state of the space, `node` is its number.
    """

    ours: Coordinator
    allowed: tuple[Coordinator, ...]
    node: int | None
    before: int
    given: Input | None
    depth: int


class Product:
    """The search through the product of one instance and the same with an `edited` profile.

    `only_with` is the rule without which a step is as before the edit, if there is one. The search
    ends undecided after `most_pairs` of different states.
    """

    def __init__(
        self,
        given: Known,
        edited: Profile,
        only_with: str | None = None,
        most_pairs: int = MOST_PAIRS,
    ) -> None:
        self._known = given
        self._instance: Instance = given.space.instance
        self._edited = edited
        self._only_with = only_with
        self._most_pairs = most_pairs
        self._pairs = [_Pair(given.space.nodes[0], given.space.nodes[:1], 0, -1, None, 0)]
        self._seen: set[object] = {0}
        self._different = 0

    @classmethod
    def of(cls, given: Known, edit: Edit, most_pairs: int = MOST_PAIRS) -> Product:
        """The product with the same model and one more edit."""
        profile = given.instance.profile
        return cls(given, profile.edited(edit), only_with(profile, edit), most_pairs)

    def shortest(self) -> tuple[Input, ...] | None:
        """The inputs of a shortest sequence that shows the edit, each in its state's names.

        None if there is none.

        Raises:
            UndecidedError: there are too many pairs.
        """
        found = self.path()
        return None if found is None else tuple(step.given for step in found)

    def path(self) -> tuple[Planned, ...] | None:
        """The same, with a state of Kafka's model before each input.

        Raises:
            UndecidedError: there are too many pairs.
        """
        for number, pair in enumerate(self._pairs):  # grows during the loop
            for move in self._moves(pair):
                if move.targets is not None and self._is_as_before(move):
                    for node in move.targets:
                        self._add_node(number, move.given, node)
                    continue
                for ours in self._ours(pair.ours, move.given):
                    if not self._follow(number, move.given, ours, move.outcomes):
                        return (*self._path_to(number), Planned(pair.allowed[0], move.given))
        return None

    def _is_as_before(self, move: Move) -> bool:
        return self._only_with is not None and self._only_with not in move.rules

    def _moves(self, pair: _Pair) -> Iterator[Move]:
        if pair.node is not None:
            yield from self._known.moves[pair.node]
            return
        inputs = dict.fromkeys(g for state in pair.allowed for g in self._instance.inputs(state))
        for each in inputs:
            given = (
                each._replace(request_id=1_000 + pair.depth) if isinstance(each, Request) else each
            )
            kafka = (o for state in pair.allowed for o in _outcomes(self._instance, state, given))
            yield Move(given, tuple(kafka))

    def _ours(self, state: Coordinator, given: Input) -> list[Outcome]:
        found = successors(state, given, self._edited, self._instance.config)
        return found or [Outcome(state, (), (), ())]

    def _follow(self, number: int, given: Input, ours: Outcome, kafka: tuple[Outcome, ...]) -> bool:
        """Add the pair that an outcome leads to; False if Kafka does not allow its responses."""
        same = kafka
        if len(kafka) != 1 or ours[:2] != kafka[0][:2]:
            seen = _normal(self._instance.profile, ours.responses, given)
            same = tuple(
                o for o in kafka if _normal(self._instance.profile, o.responses, given) == seen
            )
        if not same:
            return False
        state = _projected(self._instance, ours.coordinator)
        states = dict.fromkeys(
            _projected(self._instance, o.coordinator)
            for o in same
            if self._instance.admits(o.coordinator)
        )
        if any(map(self._instance.has_issued_ids, states)):
            self._add(number, given, state, tuple(states))
        return True

    def _add(
        self, number: int, given: Input, state: Coordinator, allowed: tuple[Coordinator, ...]
    ) -> None:
        # A request for one of several states of Kafka may lead out of the graph from another one.
        node = _number(self._known.space, state)
        if allowed == (state,) and node is not None:
            self._add_node(number, given, node)
            return
        key = _key(state, allowed)
        if key in self._seen:
            return
        self._seen.add(key)
        self._different += 1
        if self._different > self._most_pairs:
            raise UndecidedError
        depth = self._pairs[number].depth + 1
        self._pairs.append(_Pair(state, allowed, None, number, given, depth))

    def _add_node(self, number: int, given: Input, node: int) -> None:
        if node in self._seen:
            return
        self._seen.add(node)
        state, depth = self._known.space.nodes[node], self._pairs[number].depth + 1
        self._pairs.append(_Pair(state, (state,), node, number, given, depth))

    def _path_to(self, number: int) -> tuple[Planned, ...]:
        found: list[Planned] = []
        while (pair := self._pairs[number]).given is not None:
            number = pair.before
            found.append(Planned(self._pairs[number].allowed[0], pair.given))
        return tuple(reversed(found))


def _outcomes(instance: Instance, state: Coordinator, given: Input) -> list[Outcome]:
    return successors(state, given, instance.profile, instance.config)


def _projected(instance: Instance, state: Coordinator) -> Coordinator:
    """The state without the parts that the instance ignores."""
    if not instance.timed:
        state = untimed(state)
    elif isinstance(instance, Ticking):
        state = instance.rounded(state)
    if instance.features.isdisjoint({Feature.FAILOVER, Feature.CRASHES}):
        state = state._replace(log=None)
    return state if Feature.EXPIRY in instance.features else ageless_state(state)


class _Themselves(dict[str, str]):
    """Each member id is mapped to itself."""

    def get(self, key: str, _default: object = None) -> str:
        return key


_THEMSELVES: Final = _Themselves()


def _normal(profile: Profile, responses: tuple[Response, ...], given: Input) -> object:
    """The responses as the oracle compares them, those to earlier requests in new versions."""
    own = given if isinstance(given, Request) else None
    return tuple(
        (
            response.request_id,
            normal(
                response.body,
                _THEMSELVES,
                own.api_version
                if own is not None and response.request_id == own.request_id
                else profile.max_versions[API_OF[type(response.body)]],
            ),
        )
        for response in sorted(responses, key=attrgetter("request_id"))
    )


def _key(state: Coordinator, allowed: tuple[Coordinator, ...]) -> object:
    """The same for pairs that differ only in names, request ids, and how high generations are."""
    names: dict[object, str] = {}
    cut = max((state.group.generation_id if state.group else 0) - 1, 0)

    def renamed(value: Any, field: str) -> Any:
        if isinstance(value, tuple):
            fields = getattr(value, "_fields", None) or (field,) * len(value)
            if field == "unstable" and len(value) == 2 and isinstance(value[1], int):
                fields = ("", "request_id")
            parts = (renamed(v, f) for v, f in zip(value, fields, strict=True))
            return (type(value).__name__, *parts)
        if isinstance(value, str) and _SYMBOL.fullmatch(value):
            return names.setdefault(value, f"#{len(names)}")
        if field in _REQUEST_IDS and value is not None:
            return names.setdefault(("request", value), f"#{len(names)}")
        return value - cut if field == "generation_id" else value

    return renamed(state, ""), tuple(renamed(each, "") for each in allowed)
