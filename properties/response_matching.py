"""Response matching: whether an answer is the allowed one, first literally, then normalised.

Each step of each walk asks for the literal match, so it is fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from groupcheck.model.engine.edits import Anything
from groupcheck.model.vocabulary import (
    DescribeGroupsResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    ResponseBody,
)
from groupcheck.properties.compare import normal, with_anything_as
from groupcheck.properties.generators.walk_state import WalkState


def agree(allowed: ResponseBody, answer: ResponseBody, at: WalkState) -> bool:
    """Whether two answers are equal but for names, generations and the order of members."""
    kind = type(allowed)
    if kind is not type(answer):
        return False
    alike = _BEARING_NAMES.get(kind)
    return allowed == answer if alike is None else alike(allowed, answer, at)


def _joins_agree(allowed: Any, answer: Any, at: WalkState) -> bool:  # noqa: ANN401
    names, generation = at.names, allowed[1]
    if not isinstance(generation, Anything) and not allowed[0] and generation >= 0:
        generation += at.cut
    return (
        generation == answer[1]
        and allowed[0] == answer[0]
        and allowed[2:4] == answer[2:4]
        and names.get(allowed[4], allowed[4]) == answer[4]
        and names.get(allowed[5], allowed[5]) == answer[5]
        and _listed_alike(allowed[6], answer[6], at)
        and allowed[7] == answer[7]
    )


def _departures_agree(allowed: Any, answer: Any, at: WalkState) -> bool:  # noqa: ANN401
    if isinstance(allowed[1], Anything):
        return bool(allowed[0] == answer[0])
    return allowed[0] == answer[0] and _renamed(allowed[1], at.names) == list(answer[1])


def _descriptions_agree(allowed: Any, answer: Any, at: WalkState) -> bool:  # noqa: ANN401
    if len(allowed[0]) != 1 or len(answer[0]) != 1:
        return False
    (ours,), (theirs,) = allowed[0], answer[0]
    return ours[:-1] == theirs[:-1] and _listed_alike(ours[-1], theirs[-1], at)


def _listed_alike(ours: Any, theirs: Any, at: WalkState) -> bool:  # noqa: ANN401
    """Whether two lists have the same members in any order; one id may be unrevealed."""
    if isinstance(ours, Anything):
        return True
    if not ours or not theirs:
        return not ours and not theirs
    if len(ours) != len(theirs):
        return False
    allowed, seen = set(_renamed(ours, at.names)), set(theirs)
    if allowed == seen:
        return True
    ours_alone, theirs_alone = allowed - seen, seen - allowed
    if len(ours_alone) != 1 or len(theirs_alone) != 1:
        return False
    (one,), (other,) = ours_alone, theirs_alone
    unrevealed = one[0] not in at.revealed and other[0] not in at.names.values()
    return unrevealed and one[1:] == other[1:]


def _renamed(records: Any, names: Mapping[str, str]) -> list[tuple[Any, ...]]:  # noqa: ANN401
    """Records that begin with a member id, under other names."""
    return [(names.get(record[0], record[0]), *record[1:]) for record in records]


_BEARING_NAMES: Final[dict[type, Callable[[Any, Any, WalkState], bool]]] = {
    JoinGroupResponse: _joins_agree,
    LeaveGroupResponse: _departures_agree,
    DescribeGroupsResponse: _descriptions_agree,
}


def agree_at_last(allowed: ResponseBody, answer: ResponseBody, at: WalkState, version: int) -> bool:
    """Whether two answers to a request of that version are equal in their normal form."""
    if type(allowed) is not type(answer) or _led_otherwise(allowed, answer, at):
        return False
    known = {name: name for name, real in at.names.items() if real in at.revealed}
    seen = normal(answer, {at.names[name]: name for name in known}, version)
    return seen == normal(with_anything_as(seen, _shifted(allowed, at.cut)), known, version)


def _led_otherwise(allowed: Any, answer: Any, at: WalkState) -> bool:  # noqa: ANN401
    """Whether an answer to JoinGroup names a leader who is known, and who does not lead."""
    if type(allowed) is not JoinGroupResponse:
        return False
    leader = at.names.get(allowed.leader)
    return leader in at.revealed and answer.leader in at.revealed and leader != answer.leader


def _shifted(body: ResponseBody, cut: int) -> ResponseBody:
    """An answer with its generation as it is where so many are cut."""
    if isinstance(body, JoinGroupResponse) and not body.error_code:
        generation: Any = body.generation_id
        if not isinstance(generation, Anything) and generation >= 0:
            return body._replace(generation_id=generation + cut)
    return body
