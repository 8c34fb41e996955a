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

    def __init__(
        self, version: str, *, cooperative: bool, static: bool, auto_commit: bool = False
    ) -> None:
        """Make a consumer that has not subscribed.

        Args:
            version: "2.7" or "4.1".
            cooperative: whether its assignors are cooperative.
            static: whether it has a group.instance.id.
            auto_commit: enable.auto.commit.

        Raises:
            ValueError: there is no such version.
        """
        super().__init__(version, cooperative=cooperative, static=static, auto_commit=auto_commit)
        calls = (kafka.SUBSCRIBE, kafka.UNSUBSCRIBE, kafka.COMMIT, kafka.COMMIT_SYNC)
        self._handlers = {
            **dict.fromkeys(self._answers, self._answered),
            **dict.fromkeys((*calls, kafka.POLL, kafka.CLOSE), self._called),
            "FindCoordinator": self._coordinator_found,
            kafka.HEARTBEAT_INTERVAL: self._heartbeat_due,
            kafka.AUTO_COMMIT_INTERVAL: self._commit_interval_passed,
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
        elif self._sync is not None and not self._preparing:
            self._continue_commit_sync()
        if not self._closing and (self._sync is None or self._preparing):
            self._poll_loop()
        if self._has_thread:
            self._run_heartbeat_thread()
        return events

    # Calls of the application

    def _called(self, given: ClientInput) -> None:
        name = given.name
        if self._closing or self._closed or self._sync is not None:
            why = "it waits for a commit" if self._sync is not None else "it is closed"
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
        self._closing = True
        self._begin_auto_commit_sync()

    def _continue_close(self) -> None:
        """Go on after the automatic commit, and those that wait for the coordinator are sent."""
        if self._sync is not None:
            self._continue_commit_sync()
            if self._sync is not None:
                return
        self._draining |= bool(self._waiting)
        try:
            if self._draining:
                if not self._coordinator_ready():
                    return
                self._invoke_callbacks()
        except RaisedError:  # in another exception, after it has left the group
            self._finish_close()
            self._events.append(ClientEvent(kafka.RAISED, error=kafka.OTHER))
        else:
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
                if not self._poll_again:
                    return
                self._poll_again = False

    def _poll(self) -> None:
        """2.7.2 CC:467, 4.1.2 CC:509."""
        if not self._preparing:  # otherwise it goes on where onJoinPrepare blocks
            self._invoke_callbacks()
            if self._thread_failed:
                self._has_thread = self._thread_failed = False
                raise RaisedError(kafka.FATAL)
            self._poll_expired = False
            if not self._coordinator_ready():
                return
        if self._join_pending():
            self._has_thread = True
            if not self._join_group():
                return
        self._maybe_auto_commit_async()

    def _join_pending(self) -> bool:
        return self._preparing or self._rejoin_needed or self._join is not None

    def _join_group(self) -> bool:
        """Whether it has joined (2.7.2 AC:407, 4.1.2 AC:463)."""
        while self._join_pending():
            if not self._preparing and not self._coordinator_ready():
                return False
            if (self._preparing or self._needs_join_prepare) and not self._prepare_join():
                return False
            if self._join is None:
                self._initiate_join()
            if self._join == PENDING:
                # If it has lost its generation in the automatic commit, the next poll prepares.
                self._poll_again = self._needs_join_prepare
                return False
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
        return True

    def _initiate_join(self) -> None:
        """2.7.2 AC:495, 4.1.2 AC:566."""
        self._state = PREPARING
        if not self._coordinator_known:
            self._join = kafka.RETRIABLE
            return
        self._join = PENDING
        self._in_flight.append(Sent("JoinGroup", self._generation, self._member_id))
        self._events.append(ClientEvent("JoinGroup", self._member_id, partitions=self._owned))

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

    def _prepare_join(self) -> bool:
        """Whether it can join (2.7.2 CC:673, 4.1.2 CC:750). The subscription does not change."""
        if not self._preparing:
            self._needs_join_prepare = False
            self._lost_before_commit = self._is_lost()
        polls = self._behaviour.polls_while_it_prepares
        if not (self._commit_done_in_polls() if polls else self._commit_done_in_place()):
            return False
        if self._lost_before_commit:
            self._drop_owned(kafka.LOST)
        elif not self._cooperative:
            self._drop_owned(kafka.REVOKED)
        return True

    def _commit_done_in_place(self) -> bool:
        """Whether the automatic commit, in which onJoinPrepare blocks, is done (2.7.2 CC:676)."""
        if not self._preparing:
            self._begin_auto_commit_sync()
        if self._sync is not None:
            self._continue_commit_sync()
        self._preparing = self._sync is not None
        return not self._preparing

    def _commit_done_in_polls(self) -> bool:
        """Whether the automatic commit is done; otherwise it prepares again (4.1.2 CC:762)."""
        if self._auto_commit and self._prepare_commit is None:
            self._prepare_commit = self._auto_commit_async(prepares=True)
        result = self._prepare_commit
        if result != PENDING:
            self._prepare_commit = None
        self._poll_again = result == kafka.RETRIABLE
        self._needs_join_prepare |= result in (PENDING, kafka.RETRIABLE)
        return not self._needs_join_prepare

    def _complete_join(self) -> None:
        """2.7.2 CC:345, 4.1.2 CC:375."""
        owned, assigned = set(self._owned), set(self._assignment)
        if self._cooperative and not owned <= assigned:
            revoked = tuple(sorted(owned - assigned))
            self._events.append(ClientEvent(kafka.REVOKED, partitions=revoked))
            self._rejoin_needed = True
        self._commit_due = False
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

    def _commit_interval_passed(self, _: ClientInput) -> None:
        self._commit_due = self._auto_commit

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
