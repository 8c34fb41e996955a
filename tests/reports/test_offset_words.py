"""Transactions and administration requests as text, and in a trace."""

from __future__ import annotations

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import GROUP_ID, commit, offset_delete, txn_commit
from groupcheck.model.vocabulary import ErrorCode, Request, RequestBody, ResponseBody
from groupcheck.properties.sequence import Sequence, dump, parse
from groupcheck.reports.messages import answer_text, step_text

ASKED: tuple[tuple[int, RequestBody, str], ...] = (
    (
        3,
        txn_commit(1, "nobody"),
        (
            "unknown member 'nobody' sends TxnOffsetCommit v3 in a transaction of producer 7"
            " for generation 1: topic/0 = 6"
        ),
    ),
    (
        0,
        kafka.EndTxnRequest(GROUP_ID, 7, committed=True),
        "a client sends EndTxn v0: commit of producer 7",
    ),
    (
        0,
        kafka.EndTxnRequest("", 7, committed=False),
        "a client sends EndTxn v0: abort of producer 7, to the empty group id",
    ),
    (
        4,
        kafka.ListGroupsRequest(("Empty", "Dead")),
        "a client sends ListGroups v4 in state Empty or Dead",
    ),
    (
        5,
        kafka.ListGroupsRequest(("Empty",), ("classic", "share")),
        "a client sends ListGroups v5 in state Empty of type classic or share",
    ),
    (2, kafka.DeleteGroupsRequest((GROUP_ID,)), "a client sends DeleteGroups v2"),
    (
        1,
        kafka.OffsetFetchRequest(
            GROUP_ID,
            (
                kafka.OffsetFetchRequestTopic("topic", (0, 0)),
                kafka.OffsetFetchRequestTopic("other", ()),
            ),
        ),
        "a client sends OffsetFetch v1: topic/0, topic/0, other without partitions",
    ),
    (0, offset_delete("other"), "a client sends OffsetDelete v0: other/0"),
)
ANSWERED: tuple[tuple[ResponseBody, str], ...] = (
    (
        kafka.TxnOffsetCommitResponse(
            (
                kafka.OffsetCommitResponseTopic(
                    "topic", (kafka.OffsetCommitResponsePartition(0, ErrorCode.NONE),)
                ),
            )
        ),
        "topic/0: no error",
    ),
    (
        kafka.ListGroupsResponse(
            ErrorCode.NONE, (kafka.ListedGroup("group", "consumer", "Stable"),)
        ),
        "no error, groups: group of type 'consumer' in Stable",
    ),
    (kafka.ListGroupsResponse(ErrorCode.NONE), "no error, groups: none"),
    (
        kafka.DeleteGroupsResponse(
            (kafka.DeletableGroupResult("group", ErrorCode.NON_EMPTY_GROUP),)
        ),
        "group: NON_EMPTY_GROUP (68)",
    ),
    (
        kafka.OffsetDeleteResponse(
            ErrorCode.NONE,
            (
                kafka.OffsetDeleteResponseTopic(
                    "topic",
                    (kafka.OffsetDeleteResponsePartition(0, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC),),
                ),
            ),
        ),
        "no error, topic/0: GROUP_SUBSCRIBED_TO_TOPIC (86)",
    ),
    (
        kafka.OffsetFetchResponse(
            ErrorCode.NONE,
            (
                kafka.OffsetFetchResponseTopic(
                    "topic",
                    (
                        kafka.OffsetFetchResponsePartition(0, error_code=ErrorCode.NOT_COORDINATOR),
                        kafka.OffsetFetchResponsePartition(
                            1, 5, error_code=ErrorCode.NOT_COORDINATOR
                        ),
                    ),
                ),
                kafka.OffsetFetchResponseTopic("other", ()),
            ),
        ),
        (
            "no error, topic/0: NOT_COORDINATOR (16),"
            " topic/1: NOT_COORDINATOR (16): 5 (leader epoch -1, metadata ''),"
            " other without partitions"
        ),
    ),
)


@pytest.mark.parametrize(("version", "body", "words"), ASKED)
def test_a_request_is_printed_with_its_sender(version: int, body: RequestBody, words: str) -> None:
    assert step_text(Request(1, version, body), {}) == words


@pytest.mark.parametrize(("body", "words"), ANSWERED)
def test_an_answer_is_printed_with_its_errors(body: ResponseBody, words: str) -> None:
    assert answer_text(body, {}) == words


def test_a_commit_is_printed_with_its_retention() -> None:
    said = commit(-1, "")._replace(retention_time_ms=90_000)
    text = step_text(Request(1, 4, said), {})
    assert text == "a client sends OffsetCommit v4: topic/0 = 5, retained for 1 min 30 s"


@pytest.mark.parametrize(
    ("age_ms", "words"),
    [
        (90_000, ", dated 1 min 30 s before the request"),
        (-90_000, ", dated 1 min 30 s after the request"),
        (0, ""),
    ],
)
def test_a_commit_is_printed_with_the_time_that_it_says(age_ms: int, words: str) -> None:
    text = step_text(Request(1, 1, commit(-1, "", age_ms=age_ms)), {})
    assert text == f"a client sends OffsetCommit v1: topic/0 = 5{words}"


def test_a_trace_has_each_request() -> None:
    steps = tuple(Request(n, version, body) for n, (version, body, _) in enumerate(ASKED, 1))
    sequence = Sequence("4.1", {}, steps)
    assert parse(dump(sequence), "trace") == sequence
