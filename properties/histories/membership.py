"""Infers members from JoinGroups and their responses, in any state of the group."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeVar

from groupcheck.model.classic.state import Advance
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import (
    ErrorCode,
    JoinGroupRequest,
    JoinGroupResponse,
    Request,
    Response,
)

MOST_KEPT: Final = 10_000  # JoinGroups without an answer, and ids
K = TypeVar("K", int, str)


class Joined(NamedTuple):
    """The end of a join phase: the leader's response, and the JoinGroup of each member."""

    leader: JoinGroupResponse
    asked: dict[str, Request]

    @property
    def numbers(self) -> set[int]:
        """The ids of the JoinGroups."""
        return {asked.request_id for asked in self.asked.values()}


class Membership:
    """The JoinGroups since the last gap.

    `given_ms` is the last time at which the coordinator may have assigned an id.
    """

    def __init__(self, now_ms: int) -> None:
        self.given_ms = now_ms
        self._asked: dict[int, Request] = {}  # without a response
        self._given: set[str] = set()  # assigned ids that no JoinGroup has used
        self._born: dict[str, Request] = {}  # the first JoinGroup of each member

    def add(self, given: Input) -> None:
        """Add an input."""
        if isinstance(given, Request) and isinstance(given.body, JoinGroupRequest):
            _put(self._asked, given.request_id, given)
            member_id = given.body.member_id
            if member_id in self._given:
                self._given.discard(member_id)
                _put(self._born, member_id, given)

    def add_responses(self, answers: list[Response], now_ms: int) -> None:
        """Add responses."""
        for answer in answers:
            asked, body = self._asked.pop(answer.request_id, None), answer.body
            if asked is None or not isinstance(body, JoinGroupResponse):
                continue
            if body.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                if len(self._given) >= MOST_KEPT:
                    self._given.clear()  # their members count as there before
                self._given.add(body.member_id)
                self.given_ms = now_ms
            elif body.error_code != ErrorCode.NONE:
                own: JoinGroupRequest = asked.body  # type: ignore[assignment]
                if self._born.get(own.member_id) is asked:  # the JoinGroup failed
                    del self._born[own.member_id]
                    self._given.add(own.member_id)
            elif (born := self.birth(body.member_id, asked)) is not None:
                _put(self._born, body.member_id, born)

    def end_of_join(self, given: Input, answers: list[Response]) -> Joined | None:
        """The join phase that ends here, if all members have joined."""
        ended_by = isinstance(given, Request) and isinstance(given.body, JoinGroupRequest)
        if not ended_by and not isinstance(given, Advance):
            return None
        answered: dict[str, JoinGroupResponse] = {}
        asked: dict[str, Request] = {}
        for answer in answers:
            body, request = answer.body, self._asked.get(answer.request_id)
            if not isinstance(body, JoinGroupResponse) or request is None:
                continue
            if body.error_code != ErrorCode.NONE:
                return None
            answered[body.member_id], asked[body.member_id] = body, request
        leader = next((body for body in answered.values() if body.members), None)
        if leader is None or {m.member_id for m in leader.members} != answered.keys():
            return None
        # A single member that joins may receive the same response once more.
        if ended_by and (len(answered) == 1 or given not in asked.values()):
            return None
        return Joined(leader, asked)

    def birth(self, member_id: str, asked: Request) -> Request | None:
        """The first JoinGroup of a member; None if it was not recorded."""
        body: JoinGroupRequest = asked.body  # type: ignore[assignment]
        if not body.member_id:
            return asked if body.group_instance_id is None else None
        return self._born.get(member_id)


def _put(kept: dict[K, Request], key: K, request: Request) -> None:
    """Keep the request, and drop the oldest if there are too many."""
    kept[key] = request
    if len(kept) > MOST_KEPT:
        del kept[next(iter(kept))]
