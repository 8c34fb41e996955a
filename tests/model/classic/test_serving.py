"""The response of each API while the coordinator is shut down, loading, or another one."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import (
    GROUP_ID,
    PRODUCER_ID,
    TOPIC,
    commit,
    fetch,
    offset_delete,
    txn_commit,
)
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Loading, Shutdown, Unload
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import ErrorCode, MemberIdentity, Request, RequestBody
from support.marked_tests import differ
from support.scenario import end

OLDEST, OLD, NEW, NEWEST = (PROFILES[name] for name in ("0.10.0", "0.10.2", "2.7", "4.1"))
EVERY = pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
SHUT_DOWN, LOADING, ELSEWHERE = Shutdown(), Loading(), Unload()

JOIN = kafka.JoinGroupRequest(GROUP_ID, 10_000, 10_000)
REQUESTS: tuple[RequestBody, ...] = (
    JOIN,
    kafka.SyncGroupRequest(GROUP_ID, 1, "nobody", None, "consumer", "range"),
    kafka.HeartbeatRequest(GROUP_ID, 1, "nobody"),
    kafka.LeaveGroupRequest(GROUP_ID, (MemberIdentity("nobody"),)),
    commit(1, "nobody"),
    fetch(require_stable=False),
    kafka.DescribeGroupsRequest((GROUP_ID,)),
    txn_commit(1, "nobody"),
    kafka.EndTxnRequest(GROUP_ID, PRODUCER_ID, committed=True),
    kafka.ListGroupsRequest(),
    kafka.DeleteGroupsRequest((GROUP_ID,)),
    offset_delete(TOPIC),
)


def _api(body: RequestBody) -> str:
    return type(body).__name__.removesuffix("Request")


def _known(profile: Profile) -> list[RequestBody]:
    return [body for body in REQUESTS if _api(body) in profile.max_versions]


EVERY_API = pytest.mark.parametrize(
    ("profile", "body"),
    [(profile, body) for profile in PROFILES.values() for body in _known(profile)],
    ids=lambda each: each.name if isinstance(each, Profile) else _api(each),
)

# The errors after a shutdown and of another coordinator that differ from those of other APIs.
NOT_AVAILABLE, NOT_LEADER = ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER
OTHER_ERRORS = {
    **{(name, "ListGroups"): (NOT_AVAILABLE, ErrorCode.NONE) for name in PROFILES},
    ("2.7", "EndTxn"): (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NONE),
    ("4.1", "EndTxn"): (NOT_LEADER, NOT_LEADER),
}


def _error(profile: Profile, where: Input, body: RequestBody | Request, *also: Input) -> ErrorCode:
    """The error of the response, for the group or its one partition; the state stays as it is."""
    outcome = end(profile, where, *also, body)
    assert outcome.coordinator == end(profile, where, *also).coordinator
    (response,) = outcome.responses
    found: Any = response.body
    for many in ("groups", "topics", "partitions", "results"):
        while getattr(found, many, None):
            (found,) = getattr(found, many)
    error: ErrorCode = found.error_code
    return error


@EVERY_API
def test_every_api_fails_while_the_coordinator_is_shut_down_or_another_one(
    profile: Profile, body: RequestBody
) -> None:
    shut_down, elsewhere = OTHER_ERRORS.get(
        (profile.name, _api(body)), (NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
    )
    assert _error(profile, SHUT_DOWN, body) is shut_down
    assert _error(profile, ELSEWHERE, body) is elsewhere
    assert _error(profile, ELSEWHERE, body, SHUT_DOWN) is shut_down


@differ("loading")
@pytest.mark.parametrize(
    ("profile", "of_sync", "of_marker"),
    [
        (NEW, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.NONE),
        (NEWEST, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, NOT_LEADER),
    ],
    ids=lambda each: each.name,
)
def test_every_api_but_heartbeat_returns_that_the_group_is_loading(
    profile: Profile, of_sync: ErrorCode, of_marker: ErrorCode
) -> None:
    errors = {_api(body): _error(profile, LOADING, body) for body in REQUESTS}
    assert errors.pop("Heartbeat") is ErrorCode.NONE
    assert (errors.pop("SyncGroup"), errors.pop("EndTxn")) == (of_sync, of_marker)
    assert set(errors.values()) == {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
    assert len(errors) == 9


@pytest.mark.parametrize("profile", [NEW, NEWEST], ids=lambda profile: profile.name)
def test_txn_offset_commit_before_version_2_returns_not_available_while_loading(
    profile: Profile,
) -> None:
    for version, returned in ((1, NOT_AVAILABLE), (2, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)):
        request = Request(0, version, trim(txn_commit(-1, ""), version))
        assert _error(profile, LOADING, request) is returned


@differ("order of the first checks")
def test_empty_group_id_is_checked_before_a_shutdown_only_in_2_7() -> None:
    no_group_id = JOIN._replace(group_id="")
    assert _error(NEW, SHUT_DOWN, no_group_id) is ErrorCode.INVALID_GROUP_ID
    for profile in (OLDEST, OLD, NEWEST):
        assert _error(profile, SHUT_DOWN, no_group_id) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert _error(profile, ELSEWHERE, no_group_id) is ErrorCode.INVALID_GROUP_ID


@differ("order of the first checks")
@EVERY
def test_wrong_coordinator_is_checked_before_the_session_timeout_except_in_4_1(
    profile: Profile,
) -> None:
    short = JOIN._replace(session_timeout_ms=1)
    last = {"4.1": ErrorCode.INVALID_SESSION_TIMEOUT}
    assert _error(profile, ELSEWHERE, short) is last.get(profile.name, ErrorCode.NOT_COORDINATOR)


@EVERY
def test_offset_fetch_before_version_2_returns_the_error_in_each_partition(
    profile: Profile,
) -> None:
    given = Request(0, 1, fetch(require_stable=False))
    body: Any = end(profile, ELSEWHERE, given).responses[0].body
    assert body.error_code is ErrorCode.NONE
    assert body.topics[0].partitions[0].error_code is ErrorCode.NOT_COORDINATOR
