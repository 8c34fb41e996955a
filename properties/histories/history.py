"""The history of one group, and the result of the search for an order of its operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Final, NamedTuple

from groupcheck.model.spaces.clients import Happening
from groupcheck.model.step import Profile
from groupcheck.model.vocabulary import Request, ResponseBody
from groupcheck.properties.windows import Windows

NS: Final = 1_000_000  # in a millisecond
NEVER: Final = 2**127  # ns
MOST_POINTS: Final = 200_000


class Operation(NamedTuple):
    """A request that a client sent, and what is known of its answer.

    Moments are in ns. It takes effect after `begins` and, if it surely does, before `by`. It was
    answered before `ends`, or nobody knows whether it was. `answer` is None where it was not seen;
    else it is in its comparable form, as is the request. `silent` is up to when it surely was not
    answered. If the coordinator has hung up on it, it took effect before it was `gone`, or never.
    """

    request: Request
    begins: int
    ends: int = NEVER
    answer: ResponseBody | None = None
    by: int = NEVER
    silent: int | None = None
    gone: int = NEVER

    @property
    def given(self) -> Request:
        """What took effect."""
        return self.request

    @property
    def is_over(self) -> bool:
        """Whether it is known that it was answered."""
        return self.ends != NEVER

    @property
    def is_free(self) -> bool:
        """Whether it need not take effect, and may be answered in whatever way if it does."""
        return self.limit == NEVER and self.silent is None

    @property
    def limit(self) -> int:
        """When it has taken effect at the latest."""
        return min(self.by, self.ends)


class Event(NamedTuple):
    """Something that happened to the coordinator, such as a crash; nobody is answered.

    Moments are in ns. It happened after `begins` and before `ends`; if that is not known, at any
    time after `begins`, or not at all. `groups` are those it happened to, None for all.
    """

    given: Happening
    begins: int
    ends: int = NEVER
    groups: tuple[str, ...] | None = None

    @property
    def is_free(self) -> bool:
        """Whether it need not have happened."""
        return self.ends == NEVER

    @property
    def limit(self) -> int:
        """When it has happened at the latest."""
        return self.ends

    @property
    def silent(self) -> None:
        """It is not answered, and nobody waits for it to be."""
        return None

    @property
    def gone(self) -> int:
        """Nobody hangs up on it."""
        return NEVER


class GroupHistory(NamedTuple):
    """The operations of one group; `cut` says why nothing is known after some moment.

    `events` happened to its coordinator.
    """

    group_id: str
    operations: tuple[Operation, ...]
    cut: str | None = None
    events: tuple[Event, ...] = ()


def from_zero(groups: Iterable[GroupHistory]) -> tuple[GroupHistory, ...]:
    """The operations of each group by their start, the first of all in the first millisecond.

    Events before that millisecond happened at its begin.
    """
    known = list(groups)
    zero = min((o.begins for group in known for o in group.operations), default=0) // NS * NS

    def since(moment: int) -> int:
        return moment if moment == NEVER else max(moment - zero, 0)

    def moved(operation: Operation) -> Operation:
        return operation._replace(
            begins=since(operation.begins),
            ends=since(operation.ends),
            by=since(operation.by),
            silent=None if operation.silent is None else since(operation.silent),
            gone=since(operation.gone),
        )

    order = attrgetter("begins", "ends")
    return tuple(
        group._replace(
            operations=tuple(sorted(map(moved, group.operations), key=order)),
            events=tuple(
                e._replace(begins=since(e.begins), ends=since(e.ends)) for e in group.events
            ),
        )
        for group in known
    )


class Setting(NamedTuple):
    """How a history is checked.

    With `open_appends` an append takes some time, in which other operations take effect; otherwise
    it is committed at once. `symbols` are the member ids that responses in the history reveal.
    """

    profile: Profile
    broker: Mapping[str, int]
    windows: Windows = Windows()
    open_appends: bool = True
    symbols: Mapping[str, str] = {}
    most_points: int = MOST_POINTS


class Move(NamedTuple):
    """One step of an order: an operation takes effect, or else time passes or an append completes.

    An event is an operation too.

    `fired` are the rules that were applied, `answered` the operations that were answered by it.
    """

    operation: int | None
    at_ms: int
    fired: tuple[str, ...]
    answered: tuple[int, ...]


class Refusal(NamedTuple):
    """Why an order cannot go on in one way.

    If the operation `tried` (None: time passing, or an append completing) came next, the operation
    `about` would lawfully be answered otherwise, for that reason. `lawful` is None if it would not
    have been answered at all.
    """

    tried: int | None
    about: int
    lawful: ResponseBody | None
    reason: str = ""


class Verdict(NamedTuple):
    """Whether a history is lawful: None if the search was given up.

    `order` is the order found, or the longest that is lawful. `overdue` are the operations that
    have to come next in it, `refusals` why they cannot. `points` is how far the search went.
    """

    lawful: bool | None
    points: int
    order: tuple[Move, ...]
    overdue: tuple[int, ...] = ()
    refusals: tuple[Refusal, ...] = ()
