"""The rules of the port protocol (docs/port-protocol.md), on every kind of port they apply to."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupView,
    MemberView,
    Protocol,
    Request,
    Response,
)
from groupcheck.properties.ports.messages import Conversation
from groupcheck.properties.ports.port import Fault, Observation, Port, PortFailedError
from support.scripted import Message, Script, heartbeat, response, scripted

EVERY_KIND = ("exec", "python", "wire")
MESSAGES = ("exec", "python")  # the kinds whose coordinator sends the protocol's messages itself
OK = kafka.HeartbeatResponse(ErrorCode.NONE)

MakePort = Callable[[Script], Port]


@pytest.fixture
def opened(kind: str, tmp_path: Path) -> Iterator[MakePort]:
    """Opens a port of the kind under test that follows a script."""
    with ExitStack() as ports:

        def make(script: Script) -> Port:
            port = ports.enter_context(scripted(kind, script, tmp_path))
            port.open("2.7", {})
            return port

        yield make


every_kind = pytest.mark.parametrize("kind", EVERY_KIND)
kinds_with_messages = pytest.mark.parametrize("kind", MESSAGES)


@every_kind
def test_open_returns_the_name_and_version_of_the_port(opened: MakePort, kind: str) -> None:
    name, version = opened([]).open("2.7", {})
    if kind == "wire":
        assert name.startswith("kafka://127.0.0.1:")
        assert version == "JoinGroup up to version 9"
    else:
        assert (name, version) == ("scripted", "3")


@every_kind
def test_response_is_decoded_as_the_request_it_answers(opened: MakePort) -> None:
    seen = opened([[response(errorCode=25)]]).request(heartbeat(), {1})
    body = kafka.HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)
    assert seen == Observation((Response(1, body),), elapsed_ms=seen.elapsed_ms)


@every_kind
def test_response_may_come_with_a_later_message(opened: MakePort) -> None:
    port = opened([[], [response(2), response(1, errorCode=27, memberId="", leader="")]])
    assert port.request(Request(1, 5, kafka.JoinGroupRequest("group", 6_000)), ()).responses == ()
    seen = {r.request_id: r.body for r in port.request(heartbeat(2), {1, 2}).responses}
    assert seen[2] == OK
    assert isinstance(seen[1], kafka.JoinGroupResponse)
    assert seen[1].error_code is ErrorCode.REBALANCE_IN_PROGRESS


@every_kind
def test_messages_of_a_megabyte_pass_in_both_directions(opened: MakePort) -> None:
    big = b"x" * 1_000_000
    member = {"memberId": "m", "metadata": b64encode(big).decode()}
    port = opened([[response(protocolName="", memberId="", leader="", members=[member])]])
    join = kafka.JoinGroupRequest("group", 6_000, protocols=(Protocol("p", big),))
    (answer,) = port.request(Request(1, 5, join), {1}).responses
    assert isinstance(answer.body, kafka.JoinGroupResponse)
    assert answer.body.members[0].metadata == big


@every_kind
def test_opening_again_forgets_the_requests_of_the_last_test(opened: MakePort, kind: str) -> None:
    port = opened([[response()], [response(2)]] if kind == "wire" else [[response()]])
    for _ in range(2):
        port.open("2.7", {})
        assert port.request(heartbeat(), {1}).responses == (Response(1, OK),)
        port.close()


@every_kind
def test_fault_is_injected_or_reported_as_unsupported(opened: MakePort, kind: str) -> None:
    unsupported = "crash" if kind == "wire" else None
    assert opened([]).fault(Fault("crash"), ()).unsupported == unsupported


@every_kind
def test_shutdown_may_be_called_twice(opened: MakePort) -> None:
    port = opened([])
    port.close()
    port.shutdown()
    port.shutdown()


@every_kind
def test_second_response_is_a_protocol_error_and_the_port_opens_again(
    opened: MakePort, kind: str
) -> None:
    twice = [response(), response()]
    port = opened([twice, [response(2), response(2)]] if kind == "wire" else [twice])
    for _ in range(2):
        port.open("2.7", {})
        with pytest.raises(PortFailedError, match="protocol error: a second response to"):
            port.request(heartbeat(), {1})
        port.close()


def test_another_group_max_size_is_sent_as_configuration() -> None:
    assert Conversation().fault(Fault("configure", max_size=2)) == {
        "type": "fault",
        "fault": "configure",
        "config": {"group.max.size": 2},
    }


def test_second_response_to_a_request_is_taken_if_a_fault_is_expected_to_give_one() -> None:
    talk = Conversation()
    talk.open("0.10.2", {})
    talk.request(heartbeat())
    talk.take(response())
    talk.fault(Fault("unload"), {1})
    talk.take(response(errorCode=16))
    body = kafka.HeartbeatResponse(ErrorCode.NOT_COORDINATOR)
    assert talk.observation().responses == (Response(1, body),)
    talk.fault(Fault("unload"), ())
    with pytest.raises(PortFailedError, match="a second response to request 1"):
        talk.take(response(errorCode=16))


@kinds_with_messages
def test_state_has_none_for_fields_that_the_port_omits(opened: MakePort) -> None:
    offsets = [{"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 9}]}]
    members = [{"memberId": "m", "awaitingJoin": True}]
    group = {"groupId": "g", "members": members, "offsets": offsets, "pendingMembers": ["p"]}
    committed = kafka.OffsetCommitRequestTopic("t", (kafka.OffsetCommitRequestPartition(0, 9),))
    assert opened([[{"type": "state", "groups": [group]}]]).request(heartbeat(), ()).groups == (
        GroupView(
            "g",
            members=(MemberView("m", awaiting_join=True),),
            pending_members=("p",),
            offsets=(committed,),
        ),
    )


@kinds_with_messages
def test_unsupported_replaces_the_response(opened: MakePort) -> None:
    port = opened([[{"type": "unsupported", "what": "Heartbeat"}]])
    assert port.request(heartbeat(), ()) == Observation(unsupported="Heartbeat")


STATE = {"type": "state", "groups": []}
UNSUPPORTED = {"type": "unsupported", "what": "x"}
NOT_FITTING = "does not fit Heartbeat version 3"


@kinds_with_messages
@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([{}], "a message without 'type': {}"),
        ([{"type": "dome"}], "a message of unknown type 'dome'"),
        ([[1]], "not a JSON object: [1]"),
        ([7], "not a JSON object: 7"),
        ([{"type": "\ud800"}], "a string that cannot be encoded in UTF-8: '\\ud800'"),
        ([response(errorCode=2**63)], "an integer of more than 64 bits"),
        ([response(9)], "a response to request 9, which was never sent"),
        ([response(1.0)], "a response whose 'id' is not an integer"),
        ([{"type": "response", "id": 1}], "the response to request 1 has no 'body'"),
        ([response() | {"body": {}}], f"{NOT_FITTING}: Heartbeat: expected a field 'errorCode'"),
        ([response(errorCode="no")], "Heartbeat.errorCode: expected an integer, got 'no'"),
        ([response(errorCode=0.0)], "Heartbeat.errorCode: expected an integer, got 0.0"),
        ([response(errorCode=True)], "Heartbeat.errorCode: expected an integer, got True"),
        ([{"type": "state"}], "a state without a list of 'groups'"),
        ([STATE, STATE], "a second state before 'done'"),
        ([{"type": "state", "groups": [{}]}], "state.groups[0]: expected a field 'groupId'"),
        ([{"type": "unsupported"}], "an unsupported without 'what'"),
        ([UNSUPPORTED, UNSUPPORTED], "a second unsupported before 'done'"),
        ([response(), UNSUPPORTED], "is both answered and unsupported"),
        ([UNSUPPORTED, response()], "a second response to request 1"),
    ],
)
def test_message_that_violates_the_protocol_is_a_protocol_error(
    opened: MakePort, messages: list[Message], reason: str
) -> None:
    with pytest.raises(PortFailedError) as failed:
        opened([messages]).request(heartbeat(), ())
    assert failed.value.kind == "protocol error"
    assert reason in failed.value.reason
    assert len(failed.value.reason) < 300


@kinds_with_messages
def test_message_nested_deeper_than_20_is_a_protocol_error(opened: MakePort) -> None:
    nested: list[object] = []
    for _ in range(100):
        nested = [nested]
    with pytest.raises(PortFailedError, match="a message nested deeper than 20"):
        opened([[response(nested=nested)]]).request(heartbeat(), ())
