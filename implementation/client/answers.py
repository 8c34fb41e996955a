"""What the answers of the coordinator change, in whichever thread the network is polled.

AC is AbstractCoordinator.java and CC ConsumerCoordinator.java, at tags 2.7.2 and 4.1.2. If the join
future fails with RETRIABLE, the poll loop joins again (2.7.2 AC:477, 4.1.2 AC:542).
"""

from __future__ import annotations

from collections import deque
from typing import Final

from groupcheck.implementation.client.commits import Commits
from groupcheck.implementation.client.consumer import (
    COMPLETING,
    PENDING,
    PREPARING,
    STABLE,
    Completed,
    Sent,
)
from groupcheck.model import client as kafka
from groupcheck.model.client import ClientEvent, ClientInput

_NOT_COORDINATOR: Final = ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
_NOT_IN_GENERATION: Final = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")
_FENCED: Final = "FENCED_INSTANCE_ID"


class Answers(Commits):
    """The handlers of answers."""

    def __init__(
        self, version: str, *, cooperative: bool, static: bool, auto_commit: bool = False
    ) -> None:
        super().__init__(version, cooperative=cooperative, static=static, auto_commit=auto_commit)
        self._answers = {
            "JoinGroup": self._joined,
            "SyncGroup": self._synced,
            "Heartbeat": self._heartbeat_answered,
            "OffsetCommit": self._committed,
        }

    def _answered(self, given: ClientInput) -> None:
        """The oldest request on the coordinator's connection is answered.

        Raises:
            ValueError: another request is the oldest, or none is in flight, or there is no error.
        """
        if not self._in_flight or self._in_flight[0].name != given.name or not given.error:
            oldest = f"{self._in_flight[0].name} is" if self._in_flight else "nothing is"
            message = f"{given.name} cannot be answered with {given.error!r}: {oldest} in flight"
            raise ValueError(message)
        self._answers[given.name](self._in_flight.popleft(), given)

    def _coordinator_found(self, given: ClientInput) -> None:
        """FindCoordinator is answered (2.7.2 AC:828, 4.1.2 AC:920).

        Raises:
            ValueError: it is not in flight, or there is no error.
        """
        if self._lookup != PENDING or not given.error:
            message = f"FindCoordinator cannot be answered with {given.error!r}: "
            message += "it is in flight" if self._lookup == PENDING else "it is not in flight"
            raise ValueError(message)
        self._lookup = given.error
        waiting, self._waiting = self._waiting, []
        if given.error != kafka.NONE:
            self._completed += [Completed(kafka.RETRIABLE, automatic=False)] * len(waiting)
            return
        self._coordinator_known = True
        for offsets in waiting:
            self._do_commit_async(offsets=offsets)
        if self._closing or self._sync is not None or self._polls():
            self._lookup = None  # the application's thread waits for it, and clears it

    def _lose_coordinator(self) -> None:
        """Forget the coordinator; every request in flight fails (2.7.2 AC:907, 4.1.2 AC:1004)."""
        if not self._coordinator_known:
            return
        self._coordinator_known = False
        failed, self._in_flight = self._in_flight, deque()
        for sent in failed:
            if sent.name == "OffsetCommit":
                self._complete(sent, kafka.RETRIABLE)
            elif sent.name == "Heartbeat":
                self._heartbeat_in_flight = False
            else:
                self._join = kafka.RETRIABLE

    def _joined(self, sent: Sent, given: ClientInput) -> None:
        """JoinGroup is answered (2.7.2 AC:562, 4.1.2 AC:638)."""
        error = given.error
        self._join = kafka.RETRIABLE
        if error == kafka.NONE:
            if self._state != PREPARING:  # it has left meanwhile
                return
            self._state = COMPLETING
            self._poll_expired = False  # enabling the heartbeat thread resets its timers
            self._generation, self._member_id = given.generation, given.member_id
            self._join = PENDING
            self._in_flight.append(Sent("SyncGroup", self._generation, self._member_id))
            assigns = given.leader and not given.skips  # 4.1.2 CC:680
            event = ClientEvent("SyncGroup", self._member_id, self._generation, assigns)
            self._events.append(event)
        elif error == "UNKNOWN_MEMBER_ID":
            if self._unchanged(sent):
                self._reset()
        elif error in _NOT_COORDINATOR:
            self._lose_coordinator()
        elif error == "MEMBER_ID_REQUIRED":
            self._generation, self._member_id = kafka.NO_GENERATION, given.member_id
        elif error == _FENCED:
            self._join = kafka.FATAL
        elif error != "COORDINATOR_LOAD_IN_PROGRESS" and not (
            error == "REBALANCE_IN_PROGRESS" and self._behaviour.join_retries_rebalance
        ):
            self._join = kafka.OTHER

    def _synced(self, sent: Sent, given: ClientInput) -> None:
        """SyncGroup is answered (2.7.2 AC:725, 4.1.2 AC:818)."""
        error = given.error
        self._join = kafka.RETRIABLE
        if error == kafka.NONE:
            if self._state == COMPLETING:  # and not reset by the heartbeat thread
                self._state = STABLE
                self._rejoin_needed = False
                self._join, self._assignment = kafka.NONE, given.partitions
            return
        self._rejoin_needed = True
        if error in _NOT_IN_GENERATION:
            if self._unchanged(sent):
                self._reset_after(error)
        elif error in _NOT_COORDINATOR:
            self._lose_coordinator()
        elif error == _FENCED:
            self._join = kafka.FATAL
        elif error != "REBALANCE_IN_PROGRESS":
            self._join = kafka.OTHER

    def _heartbeat_answered(self, sent: Sent, given: ClientInput) -> None:
        """Heartbeat is answered; other errors are ignored (2.7.2 AC:1099, 4.1.2 AC:1240)."""
        error = given.error
        self._heartbeat_in_flight = False
        if error in _NOT_COORDINATOR:
            self._lose_coordinator()
        elif error == "REBALANCE_IN_PROGRESS":
            self._rejoin_needed |= self._state == STABLE
        elif error in (*_NOT_IN_GENERATION, _FENCED) and self._unchanged(sent):
            self._reset_after(error)
            self._thread_failed |= error == _FENCED

    def _committed(self, sent: Sent, given: ClientInput) -> None:
        """OffsetCommit is answered (2.7.2 CC:1172, 4.1.2 CC:1355)."""
        error = given.error
        result = kafka.OTHER
        if error == kafka.NONE:
            result = kafka.COMMITTED
        elif error in ("COORDINATOR_LOAD_IN_PROGRESS", "UNKNOWN_TOPIC_OR_PARTITION"):
            result = kafka.RETRIABLE
        elif error in _NOT_COORDINATOR or error == "REQUEST_TIMED_OUT":
            self._complete(sent, kafka.RETRIABLE)
            self._lose_coordinator()
            return
        elif error == _FENCED and self._unchanged(sent):
            result = kafka.FATAL
        elif error == "REBALANCE_IN_PROGRESS":
            self._rejoin_needed = True
            result = kafka.REBALANCING
        elif error in _NOT_IN_GENERATION or error == _FENCED:
            if self._state == PREPARING and not self._unchanged(sent):
                result = kafka.REBALANCING
            else:
                result = kafka.NOT_A_MEMBER
                if error != _FENCED:
                    self._reset_after(error)
        self._complete(sent, result)
