"""A request that arrives late over a new connection is no difference; one that is early is."""

from __future__ import annotations

from itertools import permutations

from groupcheck.model.client import ASSIGNED, LOST, REVOKED, ClientEvent
from groupcheck.properties.clients.consumer import _is_late

COMMIT = ClientEvent("OffsetCommit", "m", 1)
LEAVE = ClientEvent("LeaveGroup", "m")
CALL = ClientEvent(REVOKED, partitions=(0,))
OTHER_CALL = ClientEvent(ASSIGNED, partitions=(1,))


def test_of_all_orders_only_those_with_later_requests_are_late() -> None:
    expected = (COMMIT, CALL, LEAVE, OTHER_CALL)
    late = {seen for seen in permutations(expected) if _is_late(seen, expected)}
    assert late == {
        expected,
        (COMMIT, CALL, OTHER_CALL, LEAVE),
        (CALL, COMMIT, LEAVE, OTHER_CALL),
        (CALL, COMMIT, OTHER_CALL, LEAVE),
        (CALL, OTHER_CALL, COMMIT, LEAVE),
    }


def test_another_event_or_a_missing_one_is_not_late() -> None:
    assert not _is_late((COMMIT,), (COMMIT, CALL))
    assert not _is_late((COMMIT, ClientEvent(LOST, partitions=(0,))), (COMMIT, CALL))
