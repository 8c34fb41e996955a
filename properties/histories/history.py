"""The history of one group, and the result of the search for an order of its operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Final, NamedTuple

from groupcheck.model.instances.inputs import EnvironmentInput
from groupcheck.model.step import Profile
from groupcheck.model.vocabulary import Request, ResponseBody
from groupcheck.properties.tolerances import Tolerances

NS: Final = 1_000_000  # in a millisecond
NEVER: Final = 2**127  # ns
MOST_POINTS: Final = 200_000


class Operation(NamedTuple):
    """A request that a client sent, and the known facts of its response.

    Times are in ns. The request takes effect after `begins` and, if `by` is known, before it. The
    response arrived before `ends`, if that is known. `answer` is the response in its comparable
    form, as the request is; None if it was not seen. Up to `silent` there was no response. If the
    coordinator closed the connection at `gone`, the request took effect before, or never.
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
        """The input of the model."""
        return self.request

    @property
    def is_over(self) -> bool:
        """Whether its response has arrived."""
        return self.ends != NEVER

    @property
    def is_free(self) -> bool:
        """Whether it may never take effect, and may have any response if it does."""
        return self.limit == NEVER and self.silent is None

    @property
    def limit(self) -> int:
        """The latest time at which it takes effect."""
        return min(self.by, self.ends)


class Event(NamedTuple):
    """A fault of the coordinator, such as a crash.

    Times are in ns. It happened after `begins` and before `ends`; if that is not known, at any time
    after `begins`, or never. `groups` are the groups of the fault, None for all.
    """

    given: EnvironmentInput
    begins: int
    ends: int = NEVER
    groups: tuple[str, ...] | None = None

    @property
    def is_free(self) -> bool:
        """Whether it may never have happened."""
        return self.ends == NEVER

    @property
    def limit(self) -> int:
        """The latest time at which it happened."""
        return self.ends

    @property
    def silent(self) -> None:
        """It has no response."""
        return None

    @property
    def gone(self) -> int:
        """It has no connection."""
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
    tolerances: Tolerances = Tolerances()
    open_appends: bool = True
    symbols: Mapping[str, str] = {}
    most_points: int = MOST_POINTS


class Move(NamedTuple):
    """A step of an order: an operation or event takes effect, time passes, or an append completes.

    `fired` are the rules that were applied, `answered` the operations with a response by it.
    """

    operation: int | None
    at_ms: int
    fired: tuple[str, ...]
    answered: tuple[int, ...]


class Refusal(NamedTuple):
    """Why an order cannot continue in one way.

    If the operation `tried` came next (None: time passes, or an append completes), the response to
    the operation `about` would be `allowed`, by the rule `reason`; None if there were no response.
    """

    tried: int | None
    about: int
    allowed: ResponseBody | None
    reason: str = ""


class Verdict(NamedTuple):
    """Whether the model allows a history (`allowed`); None if the search stopped at the limit.

    `order` is the order that was found, or the longest allowed one. `overdue` are the operations
    that have to come next, `refusals` why they cannot. `points` is the size of the search.
    """

    allowed: bool | None
    points: int
    order: tuple[Move, ...]
    overdue: tuple[int, ...] = ()
    refusals: tuple[Refusal, ...] = ()
