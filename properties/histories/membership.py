"""What JoinGroups and their answers say of members, whatever is known of the group itself."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeVar

from groupcheck.model.state import Advance
from groupcheck.model.transition import Input
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
    """The end of a join phase: what the leader was told, and the JoinGroup of each member."""

    told: JoinGroupResponse
    asked: dict[str, Request]

    @property
    def numbers(self) -> set[int]:
        """The ids of the JoinGroups."""
        return {asked.request_id for asked in self.asked.values()}


class Joining:
    """The JoinGroups that have been seen, without a gap.

    `given_ms` is when the last id was given out, or may have been.
    """

    def __init__(self, now_ms: int) -> None:
        self.given_ms = now_ms
        self._asked: dict[int, Request] = {}  # that are not answered
        self._given: set[str] = set()  # ids that were given out, and not joined with
        self._born: dict[str, Request] = {}  # with which JoinGroup members came into being

    def note(self, given: Input) -> None:
        """Note something that was asked."""
        if isinstance(given, Request) and isinstance(given.body, JoinGroupRequest):
            _put(self._asked, given.request_id, given)
            member_id = given.body.member_id
            if member_id in self._given:
                self._given.discard(member_id)
                _put(self._born, member_id, given)

    def note_answers(self, answers: list[Response], now_ms: int) -> None:
        """Note what was answered."""
        for answer in answers:
            asked, body = self._asked.pop(answer.request_id, None), answer.body
            if asked is None or not isinstance(body, JoinGroupResponse):
                continue
            if body.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                if len(self._given) >= MOST_KEPT:
                    self._given.clear()  # who joins with one of these was there before
                self._given.add(body.member_id)
                self.given_ms = now_ms
            elif body.error_code != ErrorCode.NONE:
                own: JoinGroupRequest = asked.body  # type: ignore[assignment]
                if self._born.get(own.member_id) is asked:  # it did not join with it
                    del self._born[own.member_id]
                    self._given.add(own.member_id)
            elif (born := self.birth(body.member_id, asked)) is not None:
                _put(self._born, body.member_id, born)

    def end_of_join(self, given: Input, answers: list[Response]) -> Joined | None:
        """The join phase that ends here with all members, of whom nobody is absent."""
        ended_by = isinstance(given, Request) and isinstance(given.body, JoinGroupRequest)
        if not ended_by and not isinstance(given, Advance):
            return None
        told: dict[str, JoinGroupResponse] = {}
        asked: dict[str, Request] = {}
        for answer in answers:
            body, request = answer.body, self._asked.get(answer.request_id)
            if not isinstance(body, JoinGroupResponse) or request is None:
                continue
            if body.error_code != ErrorCode.NONE:
                return None
            told[body.member_id], asked[body.member_id] = body, request
        leader = next((body for body in told.values() if body.members), None)
        if leader is None or {m.member_id for m in leader.members} != told.keys():
            return None
        # One alone that joins may be told once more what it has been told before.
        if ended_by and (len(told) == 1 or given not in asked.values()):
            return None
        return Joined(leader, asked)

    def birth(self, member_id: str, asked: Request) -> Request | None:
        """With which JoinGroup a member came into being; None if nobody has seen that."""
        body: JoinGroupRequest = asked.body  # type: ignore[assignment]
        if not body.member_id:
            return asked if body.group_instance_id is None else None
        return self._born.get(member_id)


def _put(kept: dict[K, Request], key: K, request: Request) -> None:
    """Keep it, and forget the oldest if there are too many."""
    kept[key] = request
    if len(kept) > MOST_KEPT:
        del kept[next(iter(kept))]
