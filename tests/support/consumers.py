"""Consumers by name on a clock in seconds, as worked examples describe a group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.vocabulary import ErrorCode, JoinGroupResponse, Protocol, SyncGroupResponse
from support.requests import Call
from support.scenario import COOPERATIVE, Broker

NOTHING: Mapping[str, bytes] = MappingProxyType({})


class Consumers:
    """The consumers of one group, each with the member id and generation that it received.

    Args:
        profile: the version's name.
        session_s: the session timeout of each consumer by name, 10 s where none is given.
        rebalance_s: the rebalance timeout of all.
        settings: of the broker, dots as underscores.
    """

    def __init__(
        self,
        profile: str,
        session_s: Mapping[str, int] = MappingProxyType({}),
        rebalance_s: int = 60,
        **settings: int,
    ) -> None:
        self.broker = Broker(PROFILES[profile], **settings)
        self.joins_sent: Counter[str] = Counter()
        self._session_s = session_s
        self._rebalance_s = rebalance_s
        self._now_ms = 0
        self._names: dict[str, str] = {}  # by the id of each member
        self._joins: dict[str, list[Call[JoinGroupResponse]]] = {}
        self._syncs: dict[str, list[Call[SyncGroupResponse]]] = {}

    def at(self, seconds: float) -> None:
        """Advance the clock to this time."""
        ms = round(seconds * 1_000)
        assert ms > self._now_ms, "time passes"
        self.broker.wait(ms - self._now_ms)
        self._now_ms = ms

    def join(
        self, name: str, protocols: tuple[Protocol, ...] = COOPERATIVE, *, lost: bool = False
    ) -> Call[JoinGroupResponse]:
        """JoinGroup, with the consumer's member id if it has one; the response may be lost."""
        joined = self._last_join(name)
        call = self.broker.join(
            joined.member_id if joined else "",
            session_ms=self._session_s.get(name, 10) * 1_000,
            rebalance_ms=self._rebalance_s * 1_000,
            protocols=protocols,
        )
        if joined is None:
            self._names[f"#{call.request_id}"] = name  # the new member id, if it is added
        self.joins_sent[name] += 1
        if not lost:
            self._joins.setdefault(name, []).append(call)
        return call

    def sync(self, name: str, shares: Mapping[str, bytes] = NOTHING) -> Call[SyncGroupResponse]:
        """SyncGroup in the consumer's generation, with the assignments by name."""
        assignments = {self._id(other): share for other, share in shares.items()}
        call = self.broker.sync(self._id(name), self.generation(name), assignments)
        self._syncs.setdefault(name, []).append(call)
        return call

    def heartbeat(self, name: str) -> ErrorCode:
        """Heartbeat in the consumer's generation."""
        return self.broker.heartbeat(self._id(name), self.generation(name))

    def commit(self, name: str, generation_id: int) -> ErrorCode:
        """OffsetCommit in a generation."""
        return self.broker.commit(self._id(name), generation_id)

    def leave(self, name: str) -> None:
        """LeaveGroup, which succeeds."""
        assert self.broker.leave(self._id(name)) == [ErrorCode.NONE]

    def generation(self, name: str) -> int:
        """The generation of the consumer."""
        joined = self._last_join(name)
        assert joined is not None, f"{name} was never admitted"
        return joined.generation_id

    def received(self, name: str) -> list[bytes]:
        """The assignments that the consumer received."""
        answers = [call.answer for call in self._syncs.get(name, ()) if call.answered]
        return [answer.assignment for answer in answers if answer.error_code is ErrorCode.NONE]

    @property
    def members(self) -> list[str]:
        """The names of the group's members."""
        return sorted(self._names[member_id] for member_id in self.broker.member_ids)

    @property
    def leader(self) -> str | None:
        """The name of the group's leader."""
        leader = self.broker.group.leader
        return leader and self._names[leader]

    def deadline_s(self, name: str) -> float | None:
        """The time at which the consumer's session ends, None while no timer runs."""
        member = self.broker.group.member(self._id(name))
        assert member is not None, f"{name} is not in the group"
        left_ms = member.session_left_ms
        return None if left_ms is None else (self._now_ms + left_ms) / 1_000

    def join_deadline_s(self) -> float | None:
        """The latest time at which the join phase ends, None outside one."""
        timer = self.broker.group.join_timer
        return None if timer is None else (self._now_ms + timer.left_ms) / 1_000

    def _last_join(self, name: str) -> JoinGroupResponse | None:
        """The last JoinGroup response to the consumer without an error."""
        answers = [call.answer for call in self._joins.get(name, ()) if call.answered]
        admitted = [answer for answer in answers if answer.error_code is ErrorCode.NONE]
        return admitted[-1] if admitted else None

    def _id(self, name: str) -> str:
        joined = self._last_join(name)
        assert joined is not None, f"{name} has no member id"
        return joined.member_id
