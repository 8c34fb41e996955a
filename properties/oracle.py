"""The oracle: every model state that the observations allow, and why none is left.

Subset construction over the model's nondeterminism, independent of the connection to a port.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from typing import NamedTuple

from groupcheck.model.classic.config import CLEANUP_INTERVAL, RETENTION, Config
from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.state import Advance, Coordinator, Group, Log
from groupcheck.model.classic.step import Outcome, Profile
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.engine import oracle as engine
from groupcheck.model.engine.edits import plain
from groupcheck.model.vocabulary import GroupView, JoinGroupRequest, Request, Response, ResponseBody
from groupcheck.properties.compare import (
    Names,
    differing,
    differing_field,
    normal,
    with_anything_as,
)
from groupcheck.properties.ports.port import Observation
from groupcheck.properties.tolerances import Tolerances

# The share of the tolerance for late timers that the unknown arrival of a request may use.
ARRIVAL_SHARE = 0.25

# The distance between an answer and no answer; more than any number of fields.
MISSING_ANSWER = 1_000

DEFAULTS = Config()

Successors = Callable[[Coordinator, Input], list[Outcome]]


def config_of(profile: Profile, broker: Mapping[str, int]) -> Config:
    """The configuration of a broker; where it sets no retention, with that of its version."""
    return Config.of({RETENTION: profile.config.offsets_retention_minutes, **broker})


class Difference(NamedTuple):
    """Why one allowed outcome differs from the observation.

    `kind` is the kind of the difference; `request_id` is the request whose answer differs (None
    if the inner state does); `field` is the field of the inner state. `distance` is the distance
    of the outcome from the observation, over all answers, to find the nearest outcome.
    """

    kind: str
    request_id: int | None = None
    allowed: ResponseBody | None = None
    seen: ResponseBody | None = None
    field: str | None = None
    distance: int = 0


class Rejection(NamedTuple):
    """No allowed outcome matches: each outcome that Kafka allows here, with its difference.

    `states` are the states in which the port may have been when the last step began; on a real
    clock, after the timers that were due before it.
    """

    outcomes: tuple[Outcome, ...]
    differences: tuple[Difference, ...]
    states: tuple[Coordinator, ...] = ()
    config: Config = DEFAULTS


class DivergedError(Exception):
    """The port has left the model."""

    def __init__(self, rejection: Rejection) -> None:
        super().__init__("the port has left the model")
        self.rejection = rejection


class Oracle(engine.Oracle[Outcome]):
    """Checks one test, within `tolerances` on a real clock; `states` are the possible states."""

    def __init__(
        self,
        profile: Profile,
        broker: Mapping[str, int],
        tolerances: Tolerances | None = None,
        successors_of: Callable[[Profile, Config], Successors] | None = None,
    ) -> None:
        self.profile = profile
        late_ms, early_ms = tolerances[:2] if tolerances else (0, 0)
        self.config = config_of(profile, broker)._replace(
            timer_late_ms=late_ms,
            timer_early_ms=min(late_ms, early_ms),
            keeps_ages=not late_ms or CLEANUP_INTERVAL in broker,
        )
        self._known = successors_of and successors_of(profile, self.config)
        super().__init__(Coordinator(log=Log()), self._successors)
        self.names: dict[str, str] = {}  # the port's member ids, and their symbols
        self._symbols: dict[str, str] = {}  # the symbols in use, each mapped to itself
        self._agreed: tuple[Group | None, GroupView | None] = (None, None)  # compared last
        self.requests: dict[int, Request] = {}

    @property
    def applied(self) -> frozenset[tuple[str, ...]]:
        """The rules of each outcome that was kept last."""
        return frozenset(outcome.applied for outcome in self.kept)

    @property
    def is_unknown(self) -> bool:
        """Whether the state is unknown."""
        return all(state.is_unknown for state in self.states)

    def has_revealed(self, symbols: Iterable[str]) -> bool:
        """Whether the port has revealed the ids of these symbols."""
        return all(symbol in self._symbols for symbol in symbols)

    def bind(self, member_id: str, symbol: str) -> None:
        """Bind an id that the port has revealed to its symbol."""
        self.names[member_id] = self._symbols[symbol] = symbol

    def predict(self, given: Input) -> list[Outcome]:
        """Every allowed outcome of an input, from every possible state."""
        if isinstance(given, Request):
            self.requests[given.request_id] = given
        return super().predict(given)

    def follow(self, given: Input, seen: Observation) -> None:
        """Keep the outcomes of an input that the observation allows.

        Raises:
            DivergedError: it allows none.
        """
        if isinstance(given, Request):
            self.requests[given.request_id] = given
        # On a real clock only the elapsed time decides on the outcomes.
        self.accept(given, [] if self.config.timer_late_ms else super().predict(given), seen)

    def accept(self, given: Input, allowed: list[Outcome], seen: Observation) -> None:
        """Keep the outcomes that the observation allows; `allowed` are the predicted ones.

        Raises:
            DivergedError: it allows none.
        """
        if self.config.timer_late_ms:
            # On a real clock the elapsed time counts, not the intended time.
            allowed = self._within(given, seen.elapsed_ms)
        self._bind(seen)
        answers = {r.request_id: self._normal(r, self.names) for r in seen.responses}
        view = None if seen.groups is None else view_of(seen.groups)
        kept: list[Outcome] = []
        differences: list[Difference] = []
        for outcome in allowed:
            difference = self._difference(outcome, answers, seen, view)
            if difference is None:
                kept.append(outcome)
            else:
                differences.append(difference)
        if not self.keep(kept):
            before = self._before(given, seen.elapsed_ms)
            outcomes = tuple(allowed)
            if self.profile.version.answers:
                outcomes, before = plain(outcomes), plain(before)
            raise DivergedError(Rejection(outcomes, tuple(differences), before, self.config))

    def copied(self, *states: Coordinator) -> Oracle:
        """An independent copy, in those states or in the current ones."""
        other = copy(self)
        other.states = list(states) or self.states
        other.names = dict(self.names)
        other._symbols = dict(self._symbols)  # noqa: SLF001 - of one of its own
        other.requests = dict(self.requests)
        return other

    def _successors(self, state: Coordinator, given: Input) -> list[Outcome]:
        if self._known is not None:
            return self._known(state, given)
        return successors(state, given, self.profile, self.config)

    def _before(self, given: Input, ms: int) -> tuple[Coordinator, ...]:
        """The states in which the port may have been when an input came."""
        if not self.config.timer_late_ms or isinstance(given, Advance):
            return tuple(self.states)
        moments = (before for state in self.states for before, _ in self._moments(state, ms))
        return tuple(dict.fromkeys(before.coordinator for before in moments))

    def _within(self, given: Input, ms: int) -> list[Outcome]:
        """Every allowed outcome of an input in the `ms` of real time since the last observation."""
        if isinstance(given, Advance):
            return self.predict(Advance(ms))
        outcomes = (
            outcome
            for state in self.states
            for before, left_ms in self._moments(state, ms)
            for after in self._then(before, given)
            for outcome in self._then(after, Advance(left_ms))
        )
        return list(dict.fromkeys(outcomes))

    def _moments(self, state: Coordinator, ms: int) -> Iterator[tuple[Outcome, int]]:
        """The possible arrivals of a request in the last `ms`: outcome before it, time after it.

        The time of its arrival is unknown. It decides which timers fired earlier, and when the
        request's timers started.

        Timers fire in the order of their deadlines, so those that fired are a prefix of that order.
        This yields every prefix: at the start, and at each deadline, where the tolerance allows
        the timer to fire before the request or after it. (A timer for which both were possible at
        an earlier deadline keeps both, until it would be too late.)

        A timer that the request starts began after the last timer of the prefix was due. That is
        the earliest time; a timer that starts later fires later, which the tolerance for late
        timers covers. Only where that would use much of the tolerance, this also tries the latest
        time: as if the request had arrived as late as a timer may be.
        """
        reached = [(o, ms) for o in self._then(_nothing_yet(state), Advance(0))]
        while reached:
            yield from reached
            later = (
                (after, left_ms - step_ms)
                for before, left_ms in reached
                if (step_ms := self._next_moment(before.coordinator.group, left_ms, ms - left_ms))
                for after in self._then(before, Advance(step_ms))
            )
            reached = list(dict.fromkeys(later))

    def _next_moment(self, group: Group | None, left_ms: int, passed_ms: int) -> int:
        """The time to the next relevant moment within `left_ms`, in ms; 0 if there is none."""
        late_ms = self.config.timer_late_ms
        deadline_ms = min((at_ms for at_ms in _deadlines(group) if at_ms > 0), default=None)
        if deadline_ms is not None and deadline_ms <= left_ms + self.config.timer_early_ms:
            return min(deadline_ms, left_ms)
        last_ms = min(left_ms, late_ms - passed_ms)
        return last_ms if last_ms > late_ms * ARRIVAL_SHARE else 0

    def _then(self, before: Outcome, given: Input) -> Iterator[Outcome]:
        """An outcome and each next outcome, as one step, without the rule of passing time."""
        for after in self._successors(before.coordinator, given):
            yield Outcome(
                after.coordinator,
                before.responses + after.responses,
                before.applied + after.applied[isinstance(given, Advance) :],
                before.reasons + after.reasons,
            )

    def _bind(self, seen: Observation) -> None:
        """Bind the id that an answer to a JoinGroup without a member id reveals."""
        for response in seen.responses:
            request = self.requests[response.request_id].body
            if isinstance(request, JoinGroupRequest) and not request.member_id:
                revealed: str = response.body.member_id  # type: ignore[union-attr]
                if revealed and revealed not in self.names:
                    self.bind(revealed, f"#{response.request_id}")

    def _normal(self, response: Response, names: Names) -> ResponseBody:
        return normal(response.body, names, self.requests[response.request_id].api_version)

    def _has_each(self, allowed: tuple[Response, ...], seen: Observation) -> bool:
        """Whether each response was seen as often as a model with deviations sends it."""
        return Counter((r.request_id, self._normal(r, self._symbols)) for r in allowed) == Counter(
            (r.request_id, self._normal(r, self.names)) for r in seen.responses
        )

    def _difference(
        self,
        outcome: Outcome,
        answers: dict[int, ResponseBody],
        seen: Observation,
        view: GroupView | None,
    ) -> Difference | None:
        responses = outcome.responses
        if self.profile.version.answers:
            responses = tuple(
                r._replace(body=with_anything_as(answers.get(r.request_id), r.body))
                for r in responses
            )
        allowed = {r.request_id: self._normal(r, self._symbols) for r in responses}
        if len(answers) != len(seen.responses) and not self._has_each(responses, seen):
            return Difference("answered twice", distance=MISSING_ANSWER)
        is_unknown = outcome.coordinator.is_unknown  # then it allows all other answers
        found = [
            _of_answers(request_id, allowed.get(request_id), answers.get(request_id))
            for request_id in sorted(allowed if is_unknown else allowed.keys() | answers.keys())
            if allowed.get(request_id) != answers.get(request_id)
        ]
        if found:
            return found[0]._replace(distance=sum(difference.distance for difference in found))
        if seen.groups is not None and not is_unknown:
            compared = (outcome.coordinator.group, view)
            if compared != self._agreed:  # most steps change neither
                field = differing_field(*compared, self.names)
                if field is not None:
                    return Difference("another inner state", field=field)
                self._agreed = compared
        return None


def _of_answers(
    request_id: int, allowed: ResponseBody | None, seen: ResponseBody | None
) -> Difference:
    if seen is None:
        return Difference("no answer", request_id, allowed, distance=MISSING_ANSWER)
    if allowed is None:
        return Difference("answered too early", request_id, None, seen, distance=MISSING_ANSWER)
    distance = len(differing(allowed, seen))
    return Difference("another answer", request_id, allowed, seen, distance=distance)


def _nothing_yet(state: Coordinator) -> Outcome:
    return Outcome(state, (), (), ())


def _deadlines(group: Group | None) -> Iterator[int]:
    """The time that each running timer has left, in ms."""
    if group is None:
        return
    yield from (m.session_left_ms for m in group.members if m.session_left_ms is not None)
    yield from (p.left_ms for p in group.pending)
    if group.join_timer is not None:
        yield group.join_timer.left_ms


def view_of(groups: tuple[GroupView, ...]) -> GroupView | None:
    """The tested group, as the port shows it."""
    for view in groups:
        if view.group_id == GROUP_ID:
            return view
    return None
