"""Checks linearizability for one group: whether some order of its operations is allowed.

The search is that of Wing and Gong with Lowe's cache: operations take effect one by one, always one
that began before any pending operation ended, and equivalent points are visited once. Two things
are specific to Kafka. An operation takes effect at one time, and gets its response then or later,
from another operation, a timer or the log. And time passes: an operation takes effect as early as
possible, or some grains of time later, and timers fire in between.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from groupcheck.model.classic.rules.timers import due_next
from groupcheck.model.classic.state import (
    Advance,
    Coordinator,
    Crash,
    HoldAppends,
    Log,
    ReleaseAppends,
)
from groupcheck.model.classic.step import Outcome
from groupcheck.model.classic.storing.committed import ANSWERS_ARE_DEFERRED
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.vocabulary import ResponseBody
from groupcheck.properties.compare import normal
from groupcheck.properties.histories.equivalence import StateEquivalence
from groupcheck.properties.histories.history import (
    NEVER,
    NS,
    Move,
    Operation,
    Refusal,
    Setting,
    Verdict,
)
from groupcheck.properties.oracle import config_of

GRAINS: Final = 8  # in the tolerance for late timers
MOST_ENDS: Final = 8  # dead ends of the same length that are reported


class Point(NamedTuple):
    """An order so far: the operations that took effect, and those of them that wait.

    Both are sets of bits. An operation waits if its response is known, and not due yet.
    """

    done: int
    waiting: int
    now_ms: int
    state: Coordinator


Path = tuple["Path", Move] | tuple[()]


class Search:
    """The search for an allowed order of operations, which are sorted by their start."""

    def __init__(self, operations: Sequence[Operation], setting: Setting) -> None:
        self.operations = operations
        self._profile = setting.profile
        self._most = setting.most_points
        self._open_appends = setting.open_appends
        self._symbols = setting.symbols
        late_ms = setting.tolerances.late_ms
        # Times within a grain count as equal, and operations take effect at a grain: both are added
        # to the tolerance.
        self._grain_ms = max(1, late_ms // GRAINS)
        self._late_ms = late_ms and late_ms + 2 * self._grain_ms
        self._grace_ms = setting.tolerances.grace_ms
        self._equivalence = StateEquivalence(operations, self._grain_ms)
        self._config = config_of(setting.profile, setting.broker)._replace(
            timer_late_ms=self._late_ms, keeps_ages=self._equivalence.keeps_ages
        )
        self._free = [each.is_free for each in operations]
        self._twins = _earlier_twins(operations)
        self._numbers = {
            each.request.request_id: n for n, each in enumerate(operations) if not each.is_fault
        }
        self._gone = _gone(operations)
        self._keeps_log = len(self._numbers) < len(operations)
        silences = [each.silent - self._grace_ms * NS for each in operations if each.silent]
        self._horizon_ms = max([0, *silences]) // NS

    def run(self) -> Verdict:
        """Search for an allowed order."""
        log = Log() if self._keeps_log else None
        start = Point(0, 0, 0, Coordinator(holding=self._open_appends, log=log))
        seen = {self._key(start)}
        path: Path = ()
        longest: list[tuple[Point, Path]] = [(start, path)]
        stack = [(self._moves(start), path)]
        if self._is_the_end(start):
            return Verdict(allowed=True, points=1, order=())
        while stack:
            moves, before = stack[-1]
            for move, point in moves:
                key = self._key(point)
                if key in seen:
                    continue
                seen.add(key)
                path = before, move
                if self._is_the_end(point):
                    return Verdict(allowed=True, points=len(seen), order=_unrolled(path))
                if len(seen) >= self._most:
                    return Verdict(allowed=None, points=len(seen), order=_unrolled(longest[0][1]))
                longest = _longer(longest, point, path)
                stack.append((self._moves(point), path))
                break
            else:
                stack.pop()
        return self._rejection(len(seen), longest)

    def _key(self, point: Point) -> tuple[object, ...]:
        """A key that is the same for equivalent points."""
        now_ms = point.now_ms
        is_late = now_ms >= self._horizon_ms
        grain = now_ms if self._equivalence.keeps_ages else self._equivalence.grain(now_ms)
        # Whether an operation that can no longer take effect has done so does not matter.
        over = self._gone[bisect_left(self._gone, (now_ms,)) - 1][1]
        alike = self._equivalence.of(point.state, now_ms)
        return point.done | over, point.waiting, grain, is_late, alike

    def _due(self, point: Point) -> tuple[int, list[int]]:
        """The time by which something has to happen, and the operations that may come before."""
        operations = self.operations
        limit = min((operations[n].ends for n in _bits(point.waiting)), default=NEVER)
        found = []
        for n in _bits(((1 << len(operations)) - 1) & ~point.done):
            if operations[n].begins > limit:
                break
            limit = min(limit, operations[n].limit)
            found.append(n)
        # Of several equal operations that may never take effect, the later ones wait for the first.
        able = [
            n
            for n in found
            if operations[n].begins <= limit
            and operations[n].gone // NS >= point.now_ms
            and not self._twins[n] & ~point.done
        ]
        # Operations that may never take effect are tried last.
        return limit, sorted(able, key=self._free.__getitem__)

    def _is_the_end(self, point: Point) -> bool:
        return point.now_ms >= self._horizon_ms and self._due(point)[0] == NEVER

    def _moves(self, point: Point) -> Iterator[tuple[Move, Point]]:
        """Every possible next move, the likely ones first."""
        limit, operations = self._due(point)
        for tried, outcome, now_ms in self._tries(point, limit, operations):
            if tried is not None and self._free[tried] and self._is_idle(point, outcome, now_ms):
                continue
            done = point.done if tried is None else point.done | 1 << tried
            waiting = self._matched(outcome, point, tried, now_ms)
            if waiting is not None:
                answered = tuple(self._numbers[r.request_id] for r in outcome.responses)
                move = Move(tried, now_ms, outcome.applied, answered)
                yield move, Point(done, waiting, now_ms, outcome.coordinator)

    def _is_idle(self, point: Point, outcome: Outcome, now_ms: int) -> bool:
        """Whether only time has passed."""
        before = self._equivalence.of(point.state, point.now_ms)
        return before == self._equivalence.of(outcome.coordinator, now_ms)

    def _tries(
        self, point: Point, limit: int, operations: list[int]
    ) -> Iterator[tuple[int | None, Outcome, int]]:
        """What the model allows next: the operation, its outcome, and the time."""
        if point.state.appends and self._open_appends:
            for released in self._released(point.state):
                yield None, released, point.now_ms
        until_ms = self._horizon_ms if limit == NEVER else limit // NS
        due = due_next(point.state, until_ms - point.now_ms)
        due_ms = point.now_ms + max(due[0].left_ms, 0) if due else 0
        if due and (not operations or due_ms <= self._earliest_ms(point, operations[0])):
            # Most timers are rarely late.
            yield from self._timers(point, due_ms)
            due = []
        for n in operations:
            at_ms = self._earliest_ms(point, n)
            for state in self._later(point.state, at_ms - point.now_ms):
                for outcome in self._successors(state, self.operations[n].given):
                    yield n, outcome, at_ms
        if due:
            yield from self._timers(point, due_ms)
        yield from self._nothing(point, until_ms, operations)

    def _released(self, state: Coordinator) -> Iterator[Outcome]:
        """The first append completes; in versions where all complete together, all of them."""
        together = ANSWERS_ARE_DEFERRED.holds_in(self._profile.version)
        first, rest = (state.appends, ()) if together else (state.appends[:1], state.appends[1:])
        for released in self._successors(state._replace(appends=first), ReleaseAppends()):
            following = released.coordinator._replace(appends=rest)
            for held in self._successors(following, HoldAppends()):
                yield released._replace(coordinator=held.coordinator)

    def _earliest_ms(self, point: Point, n: int) -> int:
        """The earliest time at which an operation takes effect."""
        return max(point.now_ms, self.operations[n].begins // NS)

    def _timers(self, point: Point, due_ms: int) -> Iterator[tuple[None, Outcome, int]]:
        """The timers that are due next fire."""
        for outcome in self._successors(point.state, Advance(due_ms - point.now_ms)):
            if not _is_quiet(outcome):
                yield None, outcome, due_ms

    def _nothing(
        self, point: Point, until_ms: int, operations: list[int]
    ) -> Iterator[tuple[None, Outcome, int]]:
        """Only time passes; an operation that may take effect now may do so later."""
        now_ms = point.now_ms
        first_ms = min((self._earliest_ms(point, n) for n in operations), default=NEVER)
        may_begin = first_ms <= now_ms
        # Ages change meanwhile.
        waits = not may_begin and operations and self._equivalence.keeps_ages
        step_ms = min(self._grain_ms if may_begin else until_ms, until_ms - now_ms)
        if waits:
            step_ms = min(first_ms, until_ms) - now_ms
        if step_ms > 0 and (may_begin or waits or now_ms < self._horizon_ms):
            for state in self._later(point.state, step_ms):
                yield None, Outcome(state, (), (), ()), now_ms + step_ms

    def _later(self, state: Coordinator, ms: int) -> list[Coordinator]:
        """The state after `ms` without a timer, if possible."""
        if not ms:
            return [state]
        return [o.coordinator for o in self._successors(state, Advance(ms)) if _is_quiet(o)]

    def _successors(self, state: Coordinator, given: Input) -> list[Outcome]:
        return successors(state, given, self._profile, self._config)

    def _matched(
        self, outcome: Outcome, point: Point, tried: int | None, now_ms: int
    ) -> int | None:
        """The operations that wait after an outcome; None if a response is not the one seen."""
        waiting = point.waiting
        if tried is not None:
            each = self.operations[tried]
            if isinstance(each.given, Crash) and waiting:
                return None  # operations that wait lose their response
            if not each.is_fault and each.ends != NEVER:
                waiting |= 1 << tried
        for response in outcome.responses:
            n = self._numbers[response.request_id]
            if not self._fits(n, self._normal(response.body, n), now_ms):
                return None
            waiting &= ~(1 << n)
        return waiting

    def _fits(self, n: int, allowed: ResponseBody, now_ms: int) -> bool:
        answer, silent = self.operations[n].answer, self.operations[n].silent
        # The timer that causes it may be late, and the response takes time as well.
        latest_ms = now_ms + self._late_ms + self._grace_ms
        too_early = silent is not None and latest_ms < silent // NS
        return not too_early and (answer is None or answer == allowed)

    def _normal(self, body: ResponseBody, n: int) -> ResponseBody:
        return normal(body, self._symbols, self.operations[n].request.api_version)

    def _rejection(self, points: int, longest: list[tuple[Point, Path]]) -> Verdict:
        refusals: dict[Refusal, None] = {}
        overdue: dict[int, None] = {}
        for point, _ in longest:
            limit, operations = self._due(point)
            late = [n for n in operations if self.operations[n].limit == limit]
            waiting = [n for n in _bits(point.waiting) if self.operations[n].ends == limit]
            overdue |= dict.fromkeys(late + waiting)
            refusals |= dict.fromkeys(Refusal(None, n, None) for n in waiting)
            for tried, outcome, now_ms in self._tries(point, limit, operations):
                for response, reason in zip(outcome.responses, outcome.reasons, strict=True):
                    n = self._numbers[response.request_id]
                    allowed = self._normal(response.body, n)
                    if not self._fits(n, allowed, now_ms):
                        refusals[Refusal(tried, n, allowed, reason)] = None
        order = _unrolled(longest[0][1])
        return Verdict(False, points, order, tuple(overdue), tuple(refusals))  # noqa: FBT003 - of five


def _earlier_twins(operations: Sequence[Operation]) -> list[int]:
    """For each operation the equal one before it, if neither has to take effect."""
    last: dict[tuple[object, ...], int] = {}
    found = []
    for n, each in enumerate(operations):
        asked = (each.given,) if each.is_fault else each.request[1:]
        may_wait = each.is_free and each.gone == NEVER
        found.append(last.get(asked, 0) if may_wait else 0)
        if may_wait:
            last[asked] = 1 << n
    return found


def _gone(operations: Sequence[Operation]) -> list[tuple[int, int]]:
    """The ms after which operations can no longer take effect, each with all of them up to then."""
    found, gone = [(-1, 0)], 0
    for ms, n in sorted((e.gone // NS, n) for n, e in enumerate(operations) if e.gone != NEVER):
        gone |= 1 << n
        found.append((ms, gone))
    return found


def _is_quiet(outcome: Outcome) -> bool:
    """Whether time has passed without a timer."""
    return outcome.applied == ("time/pass",)


def _longer(
    longest: list[tuple[Point, Path]], point: Point, path: Path
) -> list[tuple[Point, Path]]:
    """The dead ends of the longest orders, with this one if it is as long."""
    best, this = _length(longest[0][0]), _length(point)
    if this > best:
        return [(point, path)]
    if this == best and len(longest) < MOST_ENDS:
        longest.append((point, path))
    return longest


def _length(point: Point) -> tuple[int, int]:
    """The operations that took effect; of equal orders, the one with more responses is longer."""
    return point.done.bit_count(), -point.waiting.bit_count()


def _unrolled(path: Path) -> tuple[Move, ...]:
    """The moves of a path, in order."""
    moves = []
    while path:
        path, move = path
        moves.append(move)
    return tuple(reversed(moves))


def _bits(number: int) -> Iterator[int]:
    """The indices of the set bits, the lowest first."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
