"""OffsetCommit in the model: what the spaces do not reach."""

from __future__ import annotations

import pytest

from groupcheck.model.instance import GROUP_ID, TOPIC
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Coordinator
from groupcheck.model.transition import successors
from groupcheck.model.vocabulary import (
    ErrorCode,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    Request,
)


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ("abc", ErrorCode.NONE),
        ("abcd", ErrorCode.OFFSET_METADATA_TOO_LARGE),
        ("\N{MUSICAL SYMBOL G CLEF}a", ErrorCode.NONE),
        ("\N{MUSICAL SYMBOL G CLEF}" * 2, ErrorCode.OFFSET_METADATA_TOO_LARGE),
    ],
)
def test_metadata_is_as_long_as_java_says(metadata: str, error: ErrorCode) -> None:
    profile = PROFILES["2.7"]
    partition = OffsetCommitRequestPartition(0, 7, committed_metadata=metadata)
    body = OffsetCommitRequest(GROUP_ID, topics=(OffsetCommitRequestTopic(TOPIC, (partition,)),))
    config = profile.config._replace(offset_metadata_max_bytes=3)
    (outcome,) = successors(Coordinator(), Request(1, 8, body), profile, config)
    (response,) = outcome.responses
    assert isinstance(response.body, OffsetCommitResponse)
    assert response.body.topics[0].partitions[0].error_code is error
