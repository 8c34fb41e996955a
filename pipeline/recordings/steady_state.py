"""The fast path for the steady state: checks pairs that change only timers and offsets.

Most events of a group in production are repeated heartbeats and commits. The fast path recognises a
pair of request and response that the oracle has checked before, and applies its effect to numbers
instead of the model's state. The result is exactly that of the oracle, because

- the model defines the effect of the pair: its step function takes the request in the group's own
  state, with a mark on every timer and no offsets. There is one outcome, with the response that the
  oracle has just accepted, and it changes only the session timer of one member and the committed
  offsets. (A pair with any other effect is never known.)
- the rest of the state does not change. Every other event goes to the oracle, with the current
  state; if that changes the state, all known pairs are dropped.
- no rule about heartbeats or commits reads a timer or a committed offset. Before a timer would
  fire the fast path ends, and the oracle lets the time pass.
- the retention of offsets passes equally in one step or in many.

tests/pipeline/test_steady_state.py compares it with the oracle, event by event.
"""

from __future__ import annotations

from itertools import count
from operator import itemgetter
from typing import Any, Final

from groupcheck.model.classic.config import Config
from groupcheck.model.classic.state import (
    Advance,
    Coordinator,
    Group,
    Log,
    Offset,
    Serving,
    TopicPartition,
)
from groupcheck.model.classic.step import Outcome, Profile
from groupcheck.model.classic.transition import successors
from groupcheck.model.vocabulary import OffsetCommitRequest, Request
from groupcheck.pipeline.event_columns import Events
from groupcheck.pipeline.history_replay import add_commit
from groupcheck.pipeline.recordings.observed import Observed
from groupcheck.pipeline.transitions import Transition, state_name, transition_of
from groupcheck.properties.histories.bodies import COMMIT, OFFSET, request_body

MARK: Final = 2**52  # longer than any timer in ms, and greater than any committed offset
NEVER: Final = 2**62
MOST_KNOWN: Final = 10_000  # pairs of one group


class Known:
    """A pair that the oracle has checked, and its effect.

    The session timer of the member at index `member` restarts with `left_ms`. For each offset
    `commits` has the row of its partition, the partition, the offset without its number, and its
    index in the request.
    """

    __slots__ = ("commits", "left_ms", "member", "times", "transition")

    def __init__(self, transition: Transition, member: int, left_ms: int) -> None:
        self.transition = transition
        self.member = member
        self.left_ms = left_ms
        self.commits: list[tuple[dict[str, Any], TopicPartition, Offset, int]] = []
        self.times = 0


class SteadyState:
    """The known pairs of one group, as long as its state does not change."""

    def __init__(self, profile: Profile, config: Config, observed: Observed) -> None:
        self._profile = profile
        self._config = config
        self._observed = observed
        self._marked: Coordinator | None = None
        self._names = 0  # the number of known member ids
        self._known: dict[str | None, Known] = {}  # by content, as in `Events`
        self._base: Coordinator | None = None  # the state at `enter`; None outside of the fast path
        self._began_ms = self.now_ms = self._due_ms = self._fixed_ms = 0
        self._deadlines: list[int] = []  # of the members' timers; the last is of no member
        self._offsets: dict[TopicPartition, tuple[Offset, int, int]] = {}  # with offset and time
        self.passed = 0  # steps in which only time passes

    def enter(self, states: list[Coordinator], names: int, now_ms: int) -> bool:
        """Enter the fast path; False if the state does not allow it."""
        if self._base is not None:
            return True
        if len(states) != 1:
            return False
        (state,) = states
        group = state.group
        if group is None or not _is_plain(state, group):
            return False
        marked = _marked(state, group)
        if marked != self._marked or names != self._names:
            self._marked, self._names, self._known = marked, names, {}
        self._fixed_ms = now_ms + min(_other_timers_ms(group), default=NEVER)
        self._deadlines = [
            NEVER if m.session_left_ms is None else now_ms + m.session_left_ms
            for m in group.members
        ]
        self._deadlines.append(NEVER)
        if min(self._fixed_ms, *self._deadlines) <= now_ms:
            return False
        self._base, self._began_ms, self.now_ms, self._due_ms = state, now_ms, now_ms, 0
        return True

    def run(self, events: Events, start: int) -> int:
        """Check events while their pairs are known; returns the index of the first other event."""
        deadlines, now_ms, due_ms, passed = self._deadlines, self.now_ms, self._due_ms, 0
        at, end, pairs, times_ms = start, len(events), events.pairs, events.at_ms
        while at < end and (known := self._known.get(pairs[at])) is not None:
            then_ms = times_ms[at]
            if then_ms > now_ms:
                if then_ms >= due_ms:
                    due_ms = self._next_due(then_ms)
                    if then_ms >= due_ms:
                        break
                now_ms = then_ms
                passed += 1
            deadlines[known.member] = then_ms + known.left_ms
            known.times += 1
            if known.commits:
                self._commit(known, OFFSET.findall(events.body[at]), then_ms)
            at += 2
        self.now_ms, self._due_ms = now_ms, due_ms
        self.passed += passed
        return at

    def _next_due(self, then_ms: int) -> int:
        """The time before which no timer fires, even if all pairs restart theirs."""
        left_ms = min((known.left_ms for known in self._known.values()), default=NEVER)
        return min(self._fixed_ms, then_ms + left_ms, *self._deadlines[:-1])

    def _commit(self, known: Known, offsets: list[tuple[str, str]], at_ms: int) -> None:
        for row, partition, offset, index in known.commits:
            committed = int(offsets[index][0])
            add_commit(row, committed, at_ms)
            self._offsets[partition] = (offset, committed, at_ms)

    def leave(self) -> Coordinator | None:
        """Leave the fast path; returns the current state, None outside of the fast path."""
        base, self._base = self._base, None
        if base is None or base.group is None:
            return None
        self._count(state_name(base.group))
        began_ms = self._began_ms
        members = tuple(
            m if deadline == NEVER else m._replace(session_left_ms=deadline - began_ms)
            for m, deadline in zip(base.group.members, self._deadlines, strict=False)
        )
        group, log = base.group._replace(members=members), base.log
        if self._offsets:
            committed = {where: _since(*each, began_ms) for where, each in self._offsets.items()}
            group = group._replace(offsets=_with(group.offsets, committed))
            log = log and log._replace(offsets=_with(log.offsets, committed))
            self._offsets = {}
        state = base._replace(group=group, log=log)
        if self.now_ms == began_ms:
            return state
        (outcome,) = self._outcomes(state, Advance(self.now_ms - began_ms))
        return outcome.coordinator

    def _count(self, state: str) -> None:
        """Count the transitions since `enter`."""
        transitions = self._observed.transitions
        for known in self._known.values():
            if known.times:
                transitions[known.transition] += known.times
                known.times = 0
        if self.passed:
            self._observed.passed(state, self.passed, self.now_ms - self._began_ms)
            self.passed = 0

    def learn(self, pair: str, given: Request, body: str, kept: list[Outcome]) -> None:
        """Add a pair that the oracle accepts in the current state.

        Args:
            pair: its content.
            given: its request.
            body: the JSON of that request.
            kept: the outcomes that the oracle accepts.

        """
        marked = self._marked
        if marked is None or marked.group is None or len(kept) != 1:
            return
        marked_request = _with_marks(given, body)
        if marked_request is None:
            return
        outcomes = self._outcomes(marked, marked_request)
        outcome = outcomes[0]
        same = len(outcomes) == 1 and outcome[1:] == kept[0][1:]
        if not same or [r.request_id for r in outcome.responses] != [given.request_id]:
            return
        known = self._effect(marked, marked.group, marked_request, outcome)
        if known is None or len(self._known) >= MOST_KNOWN:
            return
        self._known[pair] = known
        self._due_ms = 0

    def _effect(
        self, marked: Coordinator, group: Group, request: Request, outcome: Outcome
    ) -> Known | None:
        """The effect of a step; None if it changes more than timers and offsets."""
        after, log = outcome.coordinator, marked.log
        if after.group is None or len(after.group.members) != len(group.members):
            return None
        pairs = enumerate(zip(group.members, after.group.members, strict=True))
        changed = [(n, new) for n, (old, new) in pairs if old != new]
        offsets = after.group.offsets
        expected = marked._replace(
            group=group._replace(members=after.group.members, offsets=offsets),
            log=log and log._replace(offsets=offsets),
        )
        if after != expected or len(changed) > 1:
            return None
        known = Known(transition_of(marked, request, outcome), len(group.members), NEVER)
        for index, member in changed:
            left_ms, before = member.session_left_ms, group.members[index]
            is_restart = before == member._replace(session_left_ms=before.session_left_ms)
            if not is_restart or before.session_left_ms is None or not left_ms:
                return None
            known.member, known.left_ms = index, left_ms
        if isinstance(request.body, OffsetCommitRequest):
            stored, topics = dict(offsets), request.body.topics
            named = [(t.name, p.partition_index) for t in topics for p in t.partitions]
            if len(stored) != len(named) or stored.keys() != set(named):
                return None  # a partition is refused, or repeated
            rows = self._observed.offsets
            known.commits = [(rows[w], w, stored[w], n) for n, w in enumerate(named)]
        return known

    def _outcomes(self, state: Coordinator, given: Request | Advance) -> list[Outcome]:
        return successors(state, given, self._profile, self._config)


def _is_plain(state: Coordinator, group: Group) -> bool:
    """Whether only timers and requests can change the state."""
    log = state.log or Log()
    return (
        bool(group.members)
        and not (state.holding or state.appends or state.failing or state.committed)
        and state.active
        and state.serving is Serving.SERVED
        and not (group.transactions or group.producers or log.transactions or log.producers)
        and group.empty_left_ms is None
        and (log.group is None or log.group.empty_left_ms is None)
    )


def _marked(state: Coordinator, group: Group) -> Coordinator:
    """The state with a mark on each timer, and without offsets."""
    timer = group.join_timer
    return state._replace(
        group=group._replace(
            members=tuple(
                m if m.session_left_ms is None else m._replace(session_left_ms=MARK + n)
                for n, m in enumerate(group.members)
            ),
            pending=tuple(p._replace(left_ms=MARK) for p in group.pending),
            join_timer=timer and timer._replace(left_ms=MARK),
            orphaned_timers=(MARK,) * len(group.orphaned_timers),
            sync_left_ms=None if group.sync_left_ms is None else MARK,
            offsets=(),
        ),
        log=state.log and state.log._replace(offsets=()),
    )


def _other_timers_ms(group: Group) -> list[int]:
    """The ms left on each timer other than session timers."""
    left = [*(p.left_ms for p in group.pending), *group.orphaned_timers]
    if group.join_timer is not None:
        left.append(group.join_timer.left_ms)
    if group.sync_left_ms is not None:
        left.append(group.sync_left_ms)
    return left


def _with_marks(given: Request, body: str) -> Request | None:
    """The request with marks as offsets; None if its JSON has other text of that form."""
    commit = given.body
    if not isinstance(commit, OffsetCommitRequest):
        return given
    marks = count(MARK)
    text = OFFSET.sub(lambda found: f'"committedOffset":{next(marks)}{found[2]}', body)
    marked = request_body(COMMIT, given.api_version, text)
    if not isinstance(marked, OffsetCommitRequest):
        return None
    offsets = [p.committed_offset for topic in marked.topics for p in topic.partitions]
    if offsets != list(range(MARK, next(marks))):
        return None
    return given._replace(body=commit._replace(topics=marked.topics))


def _since(offset: Offset, committed: int, at_ms: int, began_ms: int) -> Offset:
    """The offset with the retention it has at the commit, counted from `began_ms`."""
    left_ms = None if offset.left_ms is None else offset.left_ms + at_ms - began_ms
    return offset._replace(committed_offset=committed, left_ms=left_ms)


def _with(
    entries: tuple[tuple[TopicPartition, Offset], ...], others: dict[TopicPartition, Offset]
) -> tuple[tuple[TopicPartition, Offset], ...]:
    return tuple(sorted({**dict(entries), **others}.items(), key=itemgetter(0)))
