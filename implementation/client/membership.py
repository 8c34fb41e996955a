"""A consumer in a classic group: the calls of the application, its poll loop, the heartbeat thread.

AC is AbstractCoordinator.java and CC ConsumerCoordinator.java, at tags 2.7.2 and 4.1.2.
"""

from __future__ import annotations

from groupcheck.implementation.client.answers import Answers
from groupcheck.implementation.client.consumer import (
    COMPLETING,
    PENDING,
    PREPARING,
    STABLE,
    UNJOINED,
    RaisedError,
    Sent,
)
from groupcheck.model import client as kafka
from groupcheck.model.client import ClientEvent, ClientInput


class Membership(Answers):
    """One consumer, without a network and without a clock.

    An answer is handled when it comes, also if the application does not poll. A commit calls its
    callback only when the application polls or commits.
    """

    def __init__(self, version: str, *, cooperative: bool, static: bool) -> None:
        """Make a consumer that has not subscribed.

        Args:
            version: "2.7" or "4.1".
            cooperative: whether its assignors are cooperative.
            static: whether it has a group.instance.id.

        Raises:
            ValueError: there is no such version.
        """
        super().__init__(version, cooperative=cooperative, static=static)
        calls = (kafka.SUBSCRIBE, kafka.UNSUBSCRIBE, kafka.COMMIT, kafka.COMMIT_SYNC)
        self._handlers = {
            **dict.fromkeys(self._answers, self._answered),
            **dict.fromkeys((*calls, kafka.POLL, kafka.CLOSE), self._called),
            "FindCoordinator": self._coordinator_found,
            kafka.HEARTBEAT_INTERVAL: self._heartbeat_due,
            kafka.POLL_INTERVAL: self._poll_missed,
            kafka.SESSION_TIMEOUT: self._session_expired,
            kafka.DISCONNECT: self._disconnected,
        }

    def do(self, given: ClientInput) -> list[ClientEvent]:
        """Let something happen; return what the consumer does until it waits again, in order.

        Raises:
            ValueError: the input is unknown, answers no request in flight, or is a call that the
                application cannot make now. The consumer is unchanged.
        """
        events: list[ClientEvent] = []
        self._events = events
        handler = self._handlers.get(given.name)
        if handler is None:
            message = f"a consumer has no input {given.name!r}"
            raise ValueError(message)
        handler(given)
        if self._closing:
            self._continue_close()
        elif self._sync is not None:
            self._continue_commit_sync()
        if self._sync is None:
            self._poll_loop()
        if self._has_thread:
            self._run_heartbeat_thread()
        return events

    # Calls of the application

    def _called(self, given: ClientInput) -> None:
        name = given.name
        if self._closing or self._closed or self._sync is not None:
            why = "commitSync has not returned" if self._sync is not None else "it is closed"
            message = f"the consumer cannot be called ({name}): {why}"
            raise ValueError(message)
        if name == kafka.CLOSE:
            self._close()
        elif self._stopped:
            message = f"the consumer cannot be called ({name}): it has had a fatal error"
            raise ValueError(message)
        elif name == kafka.COMMIT:
            self._commit_async()
        elif name == kafka.COMMIT_SYNC:
            self._commit_sync()
        elif name == kafka.SUBSCRIBE:
            self._subscribed = True
        elif name == kafka.POLL:
            self._paused = False
        else:
            self._leave()
            self._subscribed = False

    def _close(self) -> None:
        """2.7.2 CC:889, 4.1.2 CC:1015."""
        if self._waiting:
            self._closing = True
        else:
            self._finish_close()

    def _continue_close(self) -> None:
        """Go on once the asynchronous commits that wait for the coordinator are sent."""
        try:
            if not self._coordinator_ready():
                return
            self._invoke_callbacks()
        except RaisedError:
            pass  # from close, after it has left the group
        self._finish_close()

    def _finish_close(self) -> None:
        """2.7.2 AC:1004, 4.1.2 AC:1129."""
        self._closing, self._closed = False, True
        self._has_thread = False
        self._leave()

    def _leave(self) -> None:
        """Give up the partitions (2.7.2 CC:735, 4.1.2 CC:881), then the membership."""
        lost = self._is_lost() or self._state in (PREPARING, COMPLETING)
        self._drop_owned(kafka.LOST if lost else kafka.REVOKED)
        self._maybe_leave_group()

    def _maybe_leave_group(self) -> None:
        """Send LeaveGroup, if dynamic, and reset all (2.7.2 AC:1031, 4.1.2 AC:1170)."""
        joining = self._state != UNJOINED and self._member_id != kafka.NO_MEMBER_ID
        if joining and self._coordinator_known and not self._static:
            self._events.append(ClientEvent("LeaveGroup", self._member_id))
        self._reset()

    # The poll loop

    def _poll_loop(self) -> None:
        """Poll until the consumer waits; the application polls on after an error that it can."""
        while self._polls():
            try:
                self._poll()
            except RaisedError as raised:
                self._events.append(ClientEvent(kafka.RAISED, error=raised.kind))
                self._stopped = raised.kind == kafka.FATAL
            else:
                return

    def _poll(self) -> None:
        """2.7.2 CC:467, 4.1.2 CC:509."""
        self._invoke_callbacks()
        if self._thread_failed:
            self._has_thread = self._thread_failed = False
            raise RaisedError(kafka.FATAL)
        self._poll_expired = False
        if self._coordinator_ready() and (self._rejoin_needed or self._join is not None):
            self._has_thread = True
            self._join_group()

    def _join_group(self) -> None:
        """2.7.2 AC:407, 4.1.2 AC:463."""
        while (self._rejoin_needed or self._join is not None) and self._coordinator_ready():
            if self._needs_join_prepare:
                self._needs_join_prepare = False
                self._prepare_join()
            if self._join is None:
                self._state = PREPARING
                self._join = PENDING
                self._in_flight.append(Sent("JoinGroup", self._generation, self._member_id))
                self._events.append(
                    ClientEvent("JoinGroup", self._member_id, partitions=self._owned)
                )
            if self._join == PENDING:
                return
            result, self._join = self._join, None
            if result == kafka.NONE:
                if self._state == STABLE:
                    self._complete_join()
                    self._needs_join_prepare = True
                else:  # the heartbeat thread has reset it
                    self._reset()
                continue
            self._rejoin_needed = True
            if result in (kafka.FATAL, kafka.OTHER):
                raise RaisedError(result)

    def _is_lost(self) -> bool:
        no_generation = self._generation == kafka.NO_GENERATION
        no_member_id = self._member_id == kafka.NO_MEMBER_ID
        if self._behaviour.lost_without_either:
            return no_generation or no_member_id
        return no_generation and no_member_id

    def _drop_owned(self, callback: str) -> None:
        if self._owned:
            self._events.append(ClientEvent(callback, partitions=self._owned))
            self._owned = ()

    def _prepare_join(self) -> None:
        """2.7.2 CC:673, 4.1.2 CC:750. The subscription does not change."""
        if self._is_lost():
            self._drop_owned(kafka.LOST)
        elif not self._cooperative:
            self._drop_owned(kafka.REVOKED)

    def _complete_join(self) -> None:
        """2.7.2 CC:345, 4.1.2 CC:375."""
        owned, assigned = set(self._owned), set(self._assignment)
        if self._cooperative and not owned <= assigned:
            revoked = tuple(sorted(owned - assigned))
            self._events.append(ClientEvent(kafka.REVOKED, partitions=revoked))
            self._rejoin_needed = True
        self._owned = tuple(sorted(assigned))
        added = tuple(sorted(assigned - owned))
        self._events.append(ClientEvent(kafka.ASSIGNED, partitions=added))

    # Time, connections, and the heartbeat thread (2.7.2 AC:1345, 4.1.2 AC:1479)

    def _beats(self) -> bool:
        """Whether the heartbeat thread runs, and has not failed."""
        joined = self._state in (COMPLETING, STABLE)
        return joined and self._has_thread and not self._thread_failed

    def _heartbeat_due(self, _: ClientInput) -> None:
        if self._coordinator_known and not self._heartbeat_in_flight and self._beats():
            self._heartbeat_in_flight = True
            self._send("Heartbeat")

    def _session_expired(self, _: ClientInput) -> None:
        if self._beats():
            self._lose_coordinator()

    def _poll_missed(self, _: ClientInput) -> None:
        self._paused = self._poll_expired = True

    def _disconnected(self, _: ClientInput) -> None:
        self._lose_coordinator()

    def _run_heartbeat_thread(self) -> None:
        """Look up the coordinator while the application does not; leave if it does not poll."""
        if self._coordinator_known:
            if self._poll_expired and self._beats():
                self._maybe_leave_group()
        elif self._lookup != PENDING and self._beats():
            self._lookup = None
            self._start_lookup()
