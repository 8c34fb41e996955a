"""Details of single requests that no model instance reaches."""

from __future__ import annotations

import struct

import pytest

from groupcheck.model.classic.instances.inputs import SUBSCRIBED_PROTOCOLS
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.rules.subscription import topics_of
from groupcheck.model.classic.state import HoldAppends, ReleaseAppends
from groupcheck.model.vocabulary import ErrorCode, Protocol
from support.requests import PARTITION, commit_of, errors_of
from support.scenario import DELAY_MS, Broker

NONE, TOO_LARGE = ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE
OTHER = (PARTITION[0], 3)


@pytest.fixture
def broker() -> Broker:
    """Kafka 2.7, where a held append has no effect yet."""
    return Broker()


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
def test_initial_delay_of_zero_completes_the_join_at_once(profile: str) -> None:
    broker = Broker(PROFILES[profile], group_initial_rebalance_delay_ms=0)
    assert broker.join().answer.generation_id == 1


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
def test_new_member_flag_that_was_not_used_extends_the_next_initial_delay(profile: str) -> None:
    broker = Broker(PROFILES[profile])
    calls = [broker.join(rebalance_ms=DELAY_MS)]  # nothing remains after the delay
    calls.append(broker.join(rebalance_ms=DELAY_MS))
    broker.wait(DELAY_MS)
    broker.leave(*(call.answer.member_id for call in calls))
    assert broker.state == "Empty"
    broker.join()
    broker.wait(DELAY_MS)
    assert broker.state == "PreparingRebalance"
    broker.wait(DELAY_MS)
    assert broker.state == "CompletingRebalance"


def test_a_negative_rebalance_timeout_counts_as_zero(broker: Broker) -> None:
    first = broker.first_member(rebalance_ms=-5)
    second = broker.join(rebalance_ms=-5)
    # The first member has no time to rejoin, so the second is alone.
    assert broker.state == "CompletingRebalance"
    assert broker.member_ids == {second.answer.member_id} != {first.member_id}


def test_leader_that_repeats_its_sync_gets_its_first_assignment(broker: Broker) -> None:
    member_id = broker.first_member().member_id
    broker.do(HoldAppends())
    one, two = (broker.sync(member_id, 1, {member_id: part}) for part in (b"one", b"two"))
    broker.do(ReleaseAppends())
    assert not one.answered
    assert two.answer.assignment == b"one"


@pytest.mark.parametrize("offsets", [(1, 2), (1, 2, 1)], ids=["others", "equal"])
def test_held_commits_of_one_instant_complete_in_order(
    broker: Broker, offsets: tuple[int, ...]
) -> None:
    broker.do(HoldAppends())
    for offset in offsets:
        broker.send(commit_of({PARTITION: offset}), 8)
    broker.do(ReleaseAppends())
    assert broker.readable(stable=True) == offsets[-1]


def test_rejected_partition_of_a_commit_stays_pending_until_it_is_committed() -> None:
    broker = Broker(offset_metadata_max_bytes=4)
    rejected = broker.send(commit_of({PARTITION: 1, OTHER: (2, -1, "12345")}), 8)
    assert errors_of(rejected.answer) == {PARTITION: NONE, OTHER: TOO_LARGE}
    assert broker.readable(stable=True) == 1
    assert broker.readable(OTHER, stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert broker.commit(offsets={PARTITION: 1, OTHER: (2, -1, "1234")}) is NONE
    assert broker.readable(OTHER, stable=True) == 2


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ("𝄞" * 2048, NONE),
        ("𝄞" * 2048 + "x", TOO_LARGE),
        ("é" * 4096, NONE),
        ("\ud800" * 4097, TOO_LARGE),
    ],
    ids=["largest", "larger", "bytes", "surrogates"],
)
def test_metadata_length_is_measured_in_utf_16_units(
    broker: Broker, metadata: str, error: ErrorCode
) -> None:
    assert broker.commit(offsets={PARTITION: (1, -1, metadata)}) is error


@pytest.mark.parametrize(("first", "second"), [(2, 1), (1, 2)])
def test_the_offset_of_the_transaction_that_committed_last_stands(
    broker: Broker, first: int, second: int
) -> None:
    broker.txn_commit(7, producer=1)
    broker.txn_commit(8, producer=2)
    broker.end_txn(committed=True, producer=first)
    assert broker.readable() == 6 + first
    broker.end_txn(committed=True, producer=second)
    assert broker.readable() == 8


def test_a_subscription_counts_from_the_generation_that_it_began(broker: Broker) -> None:
    broker.join(protocols=SUBSCRIBED_PROTOCOLS)
    subscribed = {PARTITION: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}
    assert errors_of(broker.delete_offsets(PARTITION)) == subscribed  # not known yet
    broker.wait(DELAY_MS)
    assert errors_of(broker.delete_offsets(PARTITION)) == {PARTITION: NONE}


def subscription(*topics: str, version: int = 0, rest: bytes = b"\0\0\0\0") -> bytes:
    """The metadata of a consumer that has subscribed to these topics."""
    names = b"".join(struct.pack(">h", len(t.encode())) + t.encode() for t in topics)
    return struct.pack(">hi", version, len(topics)) + names + rest


@pytest.mark.parametrize(
    ("metadata", "topics"),
    [
        (subscription("a", "b"), ("a", "b")),
        (subscription(), ()),
        (subscription("a", version=9, rest=b"\xff\xff\xff\xffand more"), ("a",)),
        (b"", None),
        (b"\0\0", None),
        (subscription("a", rest=b""), None),
        (subscription("a", "b")[:9], None),
        (subscription("a", rest=b"\0\0\0\7user"), None),
        (struct.pack(">hi", 0, -1), None),
        (struct.pack(">hih", 0, 1, -1), None),
    ],
)
def test_topics_are_read_from_the_metadata_of_a_consumer(
    metadata: bytes, topics: tuple[str, ...] | None
) -> None:
    assert topics_of(metadata) == topics


def test_one_member_whose_metadata_cannot_be_read_makes_the_subscriptions_unknown(
    broker: Broker,
) -> None:
    known = (Protocol("range", subscription("a")),)
    first = broker.stable_member(protocols=known)
    assert broker.group.subscribed == ("a",)
    broker.join(protocols=(Protocol("range", b"?"),))
    broker.join(first.member_id, protocols=known)
    assert broker.group.subscribed is None
