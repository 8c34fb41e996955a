"""Whether an answer is the lawful one: first as it is written, then as it is meant.

As it is written takes no longer than it must, as it is asked at each step of each walk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from groupcheck.model.vocabulary import (
    DescribeGroupsResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    ResponseBody,
)
from groupcheck.properties.compare import normal
from groupcheck.properties.generators.place import Place


def agree(lawful: ResponseBody, answer: ResponseBody, at: Place) -> bool:
    """Whether two answers are written alike, but for names, generations, the order of members."""
    kind = type(lawful)
    if kind is not type(answer):
        return False
    alike = _BEARING_NAMES.get(kind)
    return lawful == answer if alike is None else alike(lawful, answer, at)


def _joins_agree(lawful: Any, answer: Any, at: Place) -> bool:  # noqa: ANN401
    names = at.names
    generation = lawful[1] if lawful[0] or lawful[1] < 0 else lawful[1] + at.cut
    return (
        generation == answer[1]
        and lawful[0] == answer[0]
        and lawful[2:4] == answer[2:4]
        and names.get(lawful[4], lawful[4]) == answer[4]
        and names.get(lawful[5], lawful[5]) == answer[5]
        and _listed_alike(lawful[6], answer[6], at)
        and lawful[7] == answer[7]
    )


def _departures_agree(lawful: Any, answer: Any, at: Place) -> bool:  # noqa: ANN401
    return lawful[0] == answer[0] and _renamed(lawful[1], at.names) == list(answer[1])


def _descriptions_agree(lawful: Any, answer: Any, at: Place) -> bool:  # noqa: ANN401
    if len(lawful[0]) != 1 or len(answer[0]) != 1:
        return False
    (ours,), (theirs,) = lawful[0], answer[0]
    return ours[:-1] == theirs[:-1] and _listed_alike(ours[-1], theirs[-1], at)


def _listed_alike(ours: Any, theirs: Any, at: Place) -> bool:  # noqa: ANN401
    """Whether two lists have the same members, in whatever order; one may not be told its id."""
    if not ours or not theirs:
        return not ours and not theirs
    if len(ours) != len(theirs):
        return False
    lawful, seen = set(_renamed(ours, at.names)), set(theirs)
    if lawful == seen:
        return True
    ours_alone, theirs_alone = lawful - seen, seen - lawful
    if len(ours_alone) != 1 or len(theirs_alone) != 1:
        return False
    (one,), (other,) = ours_alone, theirs_alone
    untold = one[0] not in at.told and other[0] not in at.names.values()
    return untold and one[1:] == other[1:]


def _renamed(records: Any, names: Mapping[str, str]) -> list[tuple[Any, ...]]:  # noqa: ANN401
    """Records that begin with a member id, under other names."""
    return [(names.get(record[0], record[0]), *record[1:]) for record in records]


_BEARING_NAMES: Final[dict[type, Callable[[Any, Any, Place], bool]]] = {
    JoinGroupResponse: _joins_agree,
    LeaveGroupResponse: _departures_agree,
    DescribeGroupsResponse: _descriptions_agree,
}


def agree_at_last(lawful: ResponseBody, answer: ResponseBody, at: Place, version: int) -> bool:
    """Whether two answers to a request of that version agree that are not written alike."""
    if type(lawful) is not type(answer) or _led_otherwise(lawful, answer, at):
        return False
    known = {name: name for name, real in at.names.items() if real in at.told}
    seen = normal(answer, {at.names[name]: name for name in known}, version)
    return seen == normal(_shifted(lawful, at.cut), known, version)


def _led_otherwise(lawful: Any, answer: Any, at: Place) -> bool:  # noqa: ANN401
    """Whether an answer to JoinGroup names a leader who is known, and who does not lead."""
    if type(lawful) is not JoinGroupResponse:
        return False
    leader = at.names.get(lawful.leader)
    return leader in at.told and answer.leader in at.told and leader != answer.leader


def _shifted(body: ResponseBody, cut: int) -> ResponseBody:
    """An answer with its generation as it is where so many are cut."""
    if isinstance(body, JoinGroupResponse) and not body.error_code and body.generation_id >= 0:
        return body._replace(generation_id=body.generation_id + cut)
    return body
