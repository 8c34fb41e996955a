"""Bodies: each record is written as JSON and read back, and a malformed body is rejected."""

from __future__ import annotations

import json
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.model import vocabulary as kafka
from groupcheck.model.bodies import (
    MalformedBodyError,
    camel,
    decode_request,
    decode_response,
    encode,
)
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import ErrorCode, MemberIdentity

VERSIONS = PROFILES["2.7"].max_versions


def _values(hint: Any) -> st.SearchStrategy[Any]:
    if get_origin(hint) is tuple:
        return st.lists(_values(get_args(hint)[0]), max_size=2).map(tuple)
    if hasattr(hint, "_fields"):
        fields = {n: _values(h) for n, h in get_type_hints(hint).items()}
        if "producer_epoch" in fields:
            fields["producer_epoch"] = st.integers(-1, 2**15 - 1)
        return st.builds(hint, **fields)
    if hint is ErrorCode:
        return st.sampled_from(ErrorCode)
    if hint in (str, bool, bytes):
        return st.from_type(hint)
    if hint is int:
        return st.integers(-1, 2**31 - 1)
    return st.none() | _values(get_args(hint)[0])


@pytest.mark.parametrize("api", kafka.REQUESTS)
@given(data=st.data())
def test_a_request_is_read_back_from_its_json(api: str, data: st.DataObject) -> None:
    version = data.draw(st.integers(0, VERSIONS[api]))
    request = trim(data.draw(_values(kafka.REQUESTS[api])), version)
    if isinstance(request, kafka.LeaveGroupRequest) and version < 3:
        request = kafka.LeaveGroupRequest(request.group_id, (MemberIdentity("m"),))
    if isinstance(request, kafka.OffsetFetchRequest) and version < 2:
        request = request._replace(topics=request.topics or ())
    body = json.loads(json.dumps(encode(request, version)))
    assert decode_request(api, version, body) == request


@pytest.mark.parametrize("api", kafka.RESPONSES)
@given(data=st.data())
def test_a_response_is_read_back_from_its_json(api: str, data: st.DataObject) -> None:
    version = data.draw(st.integers(0, VERSIONS[api]))
    response = trim(data.draw(_values(kafka.RESPONSES[api])), version)
    body = json.loads(json.dumps(encode(response, version)))
    assert decode_response(api, version, body) == response


def test_field_names_are_those_of_kafkas_definitions() -> None:
    assert camel("session_timeout_ms") == "sessionTimeoutMs"


def test_a_version_has_only_its_own_fields() -> None:
    body = encode(kafka.JoinGroupResponse(ErrorCode.NONE, protocol_type="consumer"), 6)
    assert "protocolType" not in body
    assert body["protocolName"] == ""


def test_leader_gets_skip_assignment_from_version_9_on() -> None:
    answer = kafka.JoinGroupResponse(ErrorCode.NONE, skip_assignment=True)
    assert encode(answer, 9)["skipAssignment"] is True
    assert "skipAssignment" not in encode(answer, 8)


def test_leave_group_before_version_3_has_the_error_of_its_only_member() -> None:
    error = ErrorCode.UNKNOWN_MEMBER_ID
    left = kafka.LeaveGroupResponse(ErrorCode.NONE, (kafka.MemberResponse("m", None, error),))
    assert encode(left, 2) == {"errorCode": 25}
    assert encode(left, 3)["errorCode"] == 0


def test_an_error_code_outside_the_vocabulary_is_read_as_a_number() -> None:
    assert decode_response("Heartbeat", 4, {"errorCode": 29}) == (29,)


@pytest.mark.parametrize(
    ("api", "body", "complaint"),
    [
        ("Heartbeat", [], r"Heartbeat: expected an object, got \[\]"),
        ("Heartbeat", {}, r"Heartbeat: expected a field 'errorCode'"),
        ("Heartbeat", {"errorCode": "0"}, r"Heartbeat.errorCode: expected an integer, got '0'"),
        ("Heartbeat", {"errorCode": True}, r"Heartbeat.errorCode: expected an integer"),
        (
            "SyncGroup",
            {"errorCode": 0, "assignment": "?"},
            r"SyncGroup.assignment: expected standard base64",
        ),
        (
            "JoinGroup",
            {"errorCode": 0, "members": [{"memberId": 4, "metadata": ""}]},
            r"JoinGroup.members\[0\].memberId: expected a string, got 4",
        ),
        ("JoinGroup", {"errorCode": 0, "members": 1}, r"JoinGroup.members: expected a list"),
    ],
)
def test_a_malformed_body_is_rejected_with_the_path_of_the_field(
    api: str, body: object, complaint: str
) -> None:
    with pytest.raises(MalformedBodyError, match=complaint):
        decode_response(api, 7, body)


def test_leave_group_before_version_3_names_its_member() -> None:
    with pytest.raises(MalformedBodyError, match="memberId: expected a string"):
        decode_request("LeaveGroup", 1, {"groupId": "g"})
