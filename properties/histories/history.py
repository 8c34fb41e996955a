"""The history of one group, and the result of the search for an order of its operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Final, NamedTuple, cast

from groupcheck.model.classic.instances.inputs import EnvironmentInput
from groupcheck.model.classic.step import Profile
from groupcheck.model.vocabulary import Request, ResponseBody
from groupcheck.properties.tolerances import Tolerances

NS: Final = 1_000_000  # in a millisecond
NEVER: Final = 2**127  # ns
MOST_POINTS: Final = 200_000


class Operation(NamedTuple):
    """A request that a client sent, with the known facts of its response; or a fault.

    Times are in ns. A request takes effect after `begins` and, if `by` is known, before it. The
    response arrived before `ends`, if that is known. `answer` is the response in its comparable
    form, as the request is; None if it was not seen. Up to `silent` there was no response. If the
    coordinator closed the connection at `gone`, the request took effect before, or never.

    A fault of the coordinator, such as a crash, happened after `begins` and before `ends`; if that
    is not known, at any time after `begins`, or never. It is one of these `groups`, None: of all.
    """

    given: Request | EnvironmentInput
    begins: int
    ends: int = NEVER
    answer: ResponseBody | None = None
    by: int = NEVER
    silent: int | None = None
    gone: int = NEVER
    groups: tuple[str, ...] | None = None

    @property
    def is_fault(self) -> bool:
        """Whether it is a fault."""
        return not isinstance(self.given, Request)

    @property
    def request(self) -> Request:
        """The request, if it is no fault."""
        return cast("Request", self.given)

    @property
    def is_free(self) -> bool:
        """Whether it may never take effect, and may have any response if it does."""
        return self.limit == NEVER and self.silent is None

    @property
    def limit(self) -> int:
        """The latest time at which it can take effect."""
        return min(self.by, self.ends)

    def without_end(self) -> Operation:
        """The same operation with an unknown end."""
        return Operation(self.given, self.begins, groups=self.groups)

    def since(self, zero: int) -> Operation:
        """The same by a clock that starts at `zero`; earlier times become 0."""
        moved = [m if m == NEVER else max(m - zero, 0) for m in (*self[1:3], self.by, self.gone)]
        silent = None if self.silent is None else max(self.silent - zero, 0)
        begins, ends, by, gone = moved
        return self._replace(begins=begins, ends=ends, by=by, silent=silent, gone=gone)


class GroupHistory(NamedTuple):
    """The requests of one group and the faults of its coordinator, by their begin.

    `cut` is the reason why nothing is known after some point.
    """

    group_id: str
    operations: tuple[Operation, ...]
    cut: str | None = None

    @property
    def requests(self) -> list[Operation]:
        """The operations without the faults."""
        return [each for each in self.operations if not each.is_fault]


def from_zero(groups: Iterable[GroupHistory]) -> tuple[GroupHistory, ...]:
    """The operations of each group by their begin, the first request in the first millisecond."""
    known = list(groups)
    begins = (o.begins for group in known for o in group.requests)
    zero = min(begins, default=0) // NS * NS
    order = attrgetter("begins", "ends")
    return tuple(
        group._replace(
            operations=tuple(sorted((each.since(zero) for each in group.operations), key=order))
        )
        for group in known
    )


class Setting(NamedTuple):
    """How a history is checked.

    With `open_appends`, other operations may take effect during an append; otherwise it is
    committed at once. `symbols` are the member ids that responses in the history reveal.
    """

    profile: Profile
    broker: Mapping[str, int]
    tolerances: Tolerances = Tolerances()
    open_appends: bool = True
    symbols: Mapping[str, str] = {}
    most_points: int = MOST_POINTS


class Move(NamedTuple):
    """A step of an order: an operation or event takes effect, time passes, or an append completes.

    `applied` are the rules that were applied, `answered` the operations with a response by it.
    """

    operation: int | None
    at_ms: int
    applied: tuple[str, ...]
    answered: tuple[int, ...]


class Refusal(NamedTuple):
    """Why an order cannot continue with one move.

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
