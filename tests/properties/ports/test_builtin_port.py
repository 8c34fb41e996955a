"""The built-in coordinator as a port: its faults and versions."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.implementation.core.profiles import PROFILES
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode, GroupView, MemberView, Request, Response
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Fault, PortFailedError, PortUnavailableError
from groupcheck.properties.ports.source import PortSource, port_source
from groupcheck.properties.result import Settings
from groupcheck.properties.verify import Verification
from support.fuzzed_runs import instance

Change = Callable[[list[Response]], list[Any]]
NOTHING: Any = None
CHANGES: dict[str, Change] = {
    "port crashed": lambda answers: [answers[0], answers[len(answers)]],
    "protocol error": lambda answers: [Response(number, None) for number, _ in answers],  # type: ignore[arg-type]
    "protocol error of another API": lambda answers: [
        each._replace(body=kafka.SyncGroupResponse(ErrorCode.NONE)) for each in answers
    ],
    "protocol error of another request": lambda answers: [
        each._replace(request_id=each.request_id + 1) for each in answers
    ],
    "protocol error of no response": lambda answers: [tuple(each) for each in answers],
    "protocol error of null": lambda answers: [_with_error(each, None) for each in answers],
    "protocol error of a number": lambda answers: [_with_error(each, 0) for each in answers],
    "protocol error of a huge number": lambda answers: [
        _with_error(each, ErrorCode(2**63)) for each in answers
    ],
    "port crashed without a list": lambda _answers: NOTHING,
    "port crashed by an exit": lambda _answers: sys.exit(3),
}


def _with_error(answer: Response, error: Any) -> Response:
    return answer._replace(body=kafka.HeartbeatResponse(error))


VIEW: Any = GroupView("group", "Stable")
MEMBER: Any = MemberView("m")
VIEWS: dict[str, tuple[Any, str]] = {
    "null": (None, "expected a tuple, got None"),
    "a group that is null": ((None,), "[0]: expected a GroupView, got None"),
    "a group id that is null": ((GroupView(NOTHING),), "[0].groupId: expected a string"),
    "a number of bytes": (
        (VIEW._replace(generation_id=b"1"),),
        "[0].generationId: expected an int",
    ),
    "a huge number": ((VIEW._replace(generation_id=2**63),), "[0].generationId: expected an int"),
    "a list of members": ((VIEW._replace(members=[MEMBER]),), "[0].members: expected a tuple"),
    "a member that is null": ((VIEW, VIEW._replace(members=(None,))), "[1].members[0]: expected a"),
    "true for a number": (
        (VIEW._replace(members=(MEMBER._replace(session_timeout_ms=True),)),),
        "[0].members[0].sessionTimeoutMs: expected an integer of 64 bits, got True",
    ),
    "half of a surrogate pair": ((GroupView("\ud800"),), "[0].groupId: expected a string that can"),
}


@pytest.mark.parametrize("name", VIEWS)
def test_an_inner_state_that_is_not_valid_fails_with_the_path_of_the_field(name: str) -> None:
    views, message = VIEWS[name]

    class Changed(Coordinator):
        def views(self) -> Any:
            return views

    with pytest.raises(PortFailedError, match=re.escape(message)) as caught:
        BuiltinPort(make=Changed).open("2.7", {})
    assert caught.value.kind == "protocol error"


def test_a_coordinator_that_cannot_be_made_has_crashed() -> None:
    def make(**_options: Any) -> Coordinator:
        msg = "no\nsuch setting"
        raise ValueError(msg)

    with pytest.raises(PortFailedError, match=r"the coordinator raised ValueError: no$"):
        BuiltinPort(make=make).open("2.7", {})


def test_a_coordinator_that_cannot_be_imported_is_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "groupcheck.properties.ports.builtin", None)
    with pytest.raises(PortUnavailableError, match="cannot import the built-in coordinator"):
        port_source("builtin")


def _changed(change: Change) -> type[Coordinator]:
    """A coordinator with other responses to heartbeats."""

    class Changed(Coordinator):
        def receive(self, request: Request) -> list[Response]:
            answers = super().receive(request)
            return change(answers) if isinstance(request.body, kafka.HeartbeatRequest) else answers

    return Changed


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", ["holdAppends", "releaseAppends"])
def test_appends_can_be_held_and_released_in_every_version(profile: str, name: str) -> None:
    port = BuiltinPort()
    port.open(profile, {})
    assert port.fault(Fault(name), ()).unsupported is None


def test_unknown_fault_is_unsupported() -> None:
    port = BuiltinPort()
    port.open("2.7", {})
    assert port.fault(Fault("earthquake"), ()).unsupported == "earthquake"


def test_version_that_it_does_not_implement_is_unavailable() -> None:
    with pytest.raises(PortUnavailableError, match=r"2\.7 and 4\.1, not 0\.10\.2"):
        BuiltinPort().open("0.10.2", {})


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_a_changed_coordinator_does_is_a_finding(name: str) -> None:
    source = PortSource("changed", lambda: BuiltinPort(make=_changed(CHANGES[name])))
    settings = Settings(members=1, examples=5, walks=5)
    result = Verification(source, settings, given=instance("2.7", "membership")).run()
    kinds = {finding.key[1] for finding in result.findings}
    assert kinds == {" ".join(name.split()[:2])}
    assert all(len(finding.sequence.steps) == 1 for finding in result.findings)
