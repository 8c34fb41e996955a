"""The built-in coordinator with other choices than its own: a conforming port in every case.

Where Kafka allows several outcomes it chooses another one: the leader, a tied vote, which of the
timers of one instant fires first. It also changes orders that do not matter: of the responses of
one step, and of members, topics and partitions in a response.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from random import Random
from types import MappingProxyType
from typing import Any, TypeVar

from groupcheck.implementation.core.config import Choose
from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.implementation.core.timers import Timer
from groupcheck.model.vocabulary import (
    DescribeGroupsResponse,
    JoinGroupResponse,
    Response,
    ResponseBody,
)
from groupcheck.properties.compare import BY_TOPIC
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Observation, PortInfo

T = TypeVar("T")


def _last(options: Sequence[T], /) -> T:
    return options[-1]


def _by_name(options: Sequence[T], /) -> T:
    """The leader and the protocol that come last by name; of timers the one set last."""
    return options[-1] if isinstance(options[0], Timer) else max(options, key=str)


def _in_turn() -> Choose:
    turns = iter(range(1 << 62))

    def choose(options: Sequence[T], /) -> T:
        return options[next(turns) % len(options)]

    return choose


def _by_chance() -> Choose:
    return Random(1).choice


CHOICES: Mapping[str, Callable[[], Choose]] = MappingProxyType(
    {
        "the last": lambda: _last,
        "the last by name": lambda: _by_name,
        "in turn": _in_turn,
        "by chance": _by_chance,
    }
)


# The kinds of choices and of lists in another order.
LEADERS, VOTES, TIMERS, MARKERS = "leaders", "tied votes", "timers of one instant", "markers"
MEMBERS, ANSWERS, TOPICS = "members", "answers of one step", "topics and partitions"


class OtherBranches(BuiltinPort):
    """Chooses differently in each test, by `CHOICES` in turn, or always by one of them.

    `chosen` counts the choices, and the lists that were reordered.
    """

    def __init__(self, seed: int = 0, choices: Sequence[str] = tuple(CHOICES)) -> None:
        super().__init__(seed, self._choosing)
        self._order = Random(seed)
        self._choices = cycle([CHOICES[name]() for name in choices])
        self._choice: Choose = _last
        self.chosen: Counter[str] = Counter()
        self._member_ids: set[str] = set()

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        self._choice = next(self._choices)
        return super().open(profile, config)

    def _choosing(self, **options: Any) -> Coordinator:
        new_member_id = options.get("new_member_id", str)

        def noted(prefix: str) -> str:
            made: str = new_member_id(prefix)
            self._member_ids.add(made)
            return made

        return Coordinator(**{**options, "choose": self._choose, "new_member_id": noted})

    def _choose(self, options: Sequence[T], /) -> T:
        self.chosen[self._sort(options[0])] += 1
        return self._choice(options)

    def _sort(self, option: object) -> str:
        if isinstance(option, Timer):
            return TIMERS
        if not isinstance(option, str):
            return MARKERS
        return LEADERS if option in self._member_ids else VOTES

    def _observed(self, call: Callable[[], list[Response]]) -> Observation:
        seen = super()._observed(call)
        answers = tuple(r._replace(body=self._reordered(r.body)) for r in seen.responses)
        groups = tuple(
            view._replace(members=self._shuffled(view.members or (), MEMBERS))
            for view in seen.groups or ()
        )
        return Observation(self._shuffled(answers, ANSWERS), groups)

    def _reordered(self, body: ResponseBody) -> ResponseBody:
        if isinstance(body, JoinGroupResponse):
            return body._replace(members=self._shuffled(body.members, MEMBERS))
        if isinstance(body, DescribeGroupsResponse):
            groups = (g._replace(members=self._shuffled(g.members, MEMBERS)) for g in body.groups)
            return DescribeGroupsResponse(tuple(groups))
        if isinstance(body, BY_TOPIC):
            found: Any = body.topics
            topics = [t._replace(partitions=self._shuffled(t.partitions, TOPICS)) for t in found]
            return body._replace(topics=self._shuffled(topics, TOPICS))
        return body

    def _shuffled(self, several: Sequence[T], what: str) -> tuple[T, ...]:
        self.chosen[what] += len(several) > 1
        return tuple(self._order.sample(several, len(several)))
