"""Transactions: the offsets that producers commit in groups, and the markers that end them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from groupcheck.implementation.core.deferred import marker_error
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.offsets import NotAppendedError, Offsets
from groupcheck.implementation.core.preconditions import Preconditions
from groupcheck.implementation.core.shared import Component, Shared
from groupcheck.implementation.core.snapshots import GroupOffset
from groupcheck.implementation.log.records import Batch, Marker
from groupcheck.model.vocabulary import EndTxnRequest, EndTxnResponse, ErrorCode, Request


class Transactions(Component):
    """The open transactions of all groups."""

    __slots__ = ("_open", "_preconditions")

    def __init__(self, shared: Shared, preconditions: Preconditions) -> None:
        super().__init__(shared)
        self._preconditions = preconditions
        # For each producer and partition, the groups with offsets in its open transaction.
        self._open: dict[tuple[int, int], dict[str, None]] = {}

    def opened(self, group: Group, producer_id: int) -> None:
        """Note that a producer has offsets in a group."""
        self._open.setdefault((producer_id, group.partition), {})[group.group_id] = None

    def stage(self, group: Group, producer_id: int, offsets: Offsets, position: int | None) -> None:
        """Add a producer's offsets, without a position before they are appended."""
        self.opened(group, producer_id)
        group.offsets.stage(producer_id, offsets, position)

    def end(self, request: Request, body: EndTxnRequest) -> EndTxnResponse | None:
        """Handle a marker: end the producer's transaction in all groups of the partition."""
        if not body.group_id:
            return EndTxnResponse(ErrorCode.INVALID_GROUP_ID)
        partition = self._shared.groups.partition_of(body.group_id)
        if not self._behaviour.appends_markers:
            self.append_marker(body)
            self._end(partition, body)
            return EndTxnResponse(ErrorCode.NONE)
        if self._preconditions.partition_error(body.group_id):
            return EndTxnResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        completed = partial(self._appended, request, partition, body)
        ends = self._readable_by(partition, body)
        self._shared.append(partition, _marker(body), completed, ends=ends)
        return None

    def _readable_by(self, partition: int, body: EndTxnRequest) -> Iterator[GroupOffset]:
        """The offsets that a marker may make readable."""
        for name in self._open.get((body.producer_id, partition), ()) if body.committed else ():
            group = self._groups.get(name)
            staged = group.offsets.transactions.get(body.producer_id) if group else None
            yield from ((name, topic_partition) for topic_partition in staged or ())

    def append_marker(self, body: EndTxnRequest) -> None:
        """Append a marker that is in the log whichever broker coordinates the group."""
        if not self._behaviour.appends_markers:
            partition = self._shared.groups.partition_of(body.group_id)
            self._shared.append(partition, _marker(body), lambda _error: None)

    def _appended(
        self, request: Request, partition: int, body: EndTxnRequest, error: ErrorCode
    ) -> None:
        if error:
            self._shared.answer(request.request_id, EndTxnResponse(marker_error(error)))
        else:
            self._end(partition, body)
            self._shared.answer_when_committed(partition, request, EndTxnResponse(error))

    def _end(self, partition: int, body: EndTxnRequest) -> None:
        names = self._open.pop((body.producer_id, partition), {})
        for name in names:
            group = self._groups.get(name)
            if group is not None:
                try:
                    group.offsets.end(
                        body.producer_id, self._shared.choose, committed=body.committed
                    )
                except NotAppendedError:
                    # The offsets before it have taken effect.
                    return

    def remove_partition(self, partition: int) -> None:
        """Remove the open transactions of a partition that is unloaded."""
        for key in [key for key in self._open if key[1] == partition]:
            del self._open[key]


def _marker(body: EndTxnRequest) -> Batch:
    marker = Marker.COMMIT if body.committed else Marker.ABORT
    return Batch(producer_id=body.producer_id, marker=marker)
