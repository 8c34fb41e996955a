"""commitAsync, commitSync and automatic commits.

CC is ConsumerCoordinator.java, at tags 2.7.2 and 4.1.2.
"""

from __future__ import annotations

from typing import Final

from groupcheck.implementation.client.consumer import (
    COMPLETING,
    PENDING,
    PREPARING,
    STABLE,
    Completed,
    Consumer,
    RaisedError,
    Sent,
)
from groupcheck.model import client as kafka
from groupcheck.model.client import ClientEvent

# What commitSync does next.
_SEND: Final = "send"
_DRAIN: Final = "wait for the asynchronous commits in flight"

_FAILURES: Final = (
    kafka.RETRIABLE,
    kafka.REBALANCING,
    kafka.NOT_A_MEMBER,
    kafka.FATAL,
    kafka.OTHER,
)
_RESULTS: Final = {
    kafka.COMMITTED: ClientEvent(kafka.COMMITTED),
    **{kind: ClientEvent(kafka.COMMIT_FAILED, error=kind) for kind in _FAILURES},
}


class Commits(Consumer):
    """Commits of all owned partitions."""

    def _finish(self, result: str) -> None:
        self._events.append(_RESULTS[result])
        self._stopped |= result == kafka.FATAL

    def _finish_sync(self, result: str) -> None:
        """An error of an automatic commit is only logged (2.7.2 CC:1066, 4.1.2 CC:1188)."""
        if not self._sync_automatic:
            self._finish(result)

    def _invoke_callbacks(self) -> None:
        """Call the callbacks of completed commits, or none after a fenced one.

        2.7.2 CC:905, 4.1.2 CC:1031.
        """
        if self._async_fenced:
            raise RaisedError(kafka.FATAL)
        completed, self._completed = self._completed, []
        for each in completed:
            if not each.automatic:
                self._events.append(_RESULTS[each.result])
            elif each.result == kafka.RETRIABLE:  # after a backoff (2.7.2 CC:1046, 4.1.2 CC:1236)
                self._commit_due = True

    def _send_commit(
        self, *, offsets: bool, sync: bool, automatic: bool, prepares: bool = False
    ) -> str | None:
        """Send OffsetCommit; return a result if none is sent (2.7.2 CC:1092, 4.1.2 CC:1270)."""
        if not offsets:
            return kafka.COMMITTED
        if not self._coordinator_known:
            return kafka.RETRIABLE
        generation, member_id = self._generation, self._member_id
        if not self._subscribed:  # without a subscription it is a commit of no member
            generation, member_id = kafka.NO_GENERATION, kafka.NO_MEMBER_ID
        elif self._state != STABLE:
            rebalancing = self._state in (PREPARING, COMPLETING)
            return kafka.REBALANCING if rebalancing else kafka.NOT_A_MEMBER
        sent = Sent("OffsetCommit", generation, member_id, sync, automatic, prepares)
        self._in_flight.append(sent)
        self._events.append(ClientEvent("OffsetCommit", member_id, generation))
        return None

    def _complete(self, sent: Sent, result: str) -> None:
        """A commit in flight has its result."""
        if sent.sync:
            self._sync = result
        else:
            self._async_in_flight -= 1
            self._complete_async(result, automatic=sent.automatic)
            if sent.prepares:
                self._prepare_commit = result

    def _complete_async(self, result: str, *, automatic: bool = False) -> None:
        self._completed.append(Completed(result, automatic))
        self._async_fenced |= result == kafka.FATAL

    def _do_commit_async(
        self, *, offsets: bool, automatic: bool = False, prepares: bool = False
    ) -> str:
        """Commit; return the value of the future."""
        result = self._send_commit(
            offsets=offsets, sync=False, automatic=automatic, prepares=prepares
        )
        if result is None:
            self._async_in_flight += 1
            return PENDING
        self._complete_async(result, automatic=automatic)
        return result

    def _commit_async(self) -> None:
        """2.7.2 CC:920, 4.1.2 CC:1046."""
        offsets = bool(self._owned)
        try:
            self._invoke_callbacks()
            local = self._behaviour.empty_commits_are_local and not offsets
            if self._coordinator_known or local:
                self._do_commit_async(offsets=offsets)
                return
            if self._behaviour.async_commit_clears_lookup and self._lookup != PENDING:
                self._clear_lookup()
            self._start_lookup()
        except RaisedError as raised:
            self._finish(raised.kind)
            return
        if self._lookup == PENDING:
            self._waiting.append(offsets)
        elif self._lookup == kafka.NONE:
            self._do_commit_async(offsets=offsets)
        else:
            self._complete_async(kafka.RETRIABLE)

    def _auto_commit_async(self, *, prepares: bool) -> str:
        """Commit the positions; the coordinator is known (2.7.2 CC:1037, 4.1.2 CC:1227)."""
        self._invoke_callbacks()
        offsets = bool(self._owned)
        return self._do_commit_async(offsets=offsets, automatic=True, prepares=prepares)

    def _maybe_auto_commit_async(self) -> None:
        """2.7.2 CC:1027, 4.1.2 CC:1196."""
        if self._commit_due:
            self._commit_due = False
            self._auto_commit_async(prepares=False)

    def _begin_auto_commit_sync(self) -> None:
        """2.7.2 CC:1056, 4.1.2 CC:1178."""
        if self._auto_commit:
            self._commit_sync(automatic=True)

    def _commit_sync(self, *, automatic: bool = False) -> None:
        """2.7.2 CC:993, 4.1.2 CC:1140."""
        self._sync_automatic = automatic
        try:
            self._invoke_callbacks()
        except RaisedError as raised:
            self._finish_sync(raised.kind)
            return
        if self._owned:
            self._sync = _SEND
        else:
            self._sync = _DRAIN if self._behaviour.empty_commits_are_local else kafka.COMMITTED

    def _continue_commit_sync(self) -> None:
        """Go on until commitSync waits for an answer or has its result."""
        try:
            while self._sync != PENDING:
                if self._sync == _SEND:
                    if not self._coordinator_ready():
                        return
                    self._sync = self._send_commit(
                        offsets=True, sync=True, automatic=self._sync_automatic
                    )
                    self._sync = self._sync or PENDING
                    continue
                self._invoke_callbacks()
                if self._sync == _DRAIN:
                    if self._async_in_flight:
                        return
                    self._sync = kafka.COMMITTED
                if self._sync != kafka.RETRIABLE:
                    break
                self._sync = _SEND
            else:
                return
        except RaisedError as raised:
            self._sync = raised.kind
        result, self._sync = self._sync, None
        self._finish_sync(result or kafka.OTHER)
