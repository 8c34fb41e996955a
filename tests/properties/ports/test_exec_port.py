"""Tests of the exec port: how programs are started, spoken to, and seen to fail."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from groupcheck.model.vocabulary import (
    Assignment,
    DescribeGroupsRequest,
    ErrorCode,
    GroupView,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    MemberView,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Protocol,
    Request,
    RequestBody,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
)
from groupcheck.properties.ports.exec import ExecPort
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    PortFailedError,
    PortInfo,
    PortUnavailableError,
)

TOY = Path(__file__).with_name("toy_coordinator.js")
HEARTBEAT = Request(1, 4, HeartbeatRequest("g", 0, "m"))
MakePort = Callable[..., ExecPort]

# The frame of every scripted port; %s is what it does at a request.
SCRIPT = """
import json, os, subprocess, sys, time
DONE = {"type": "done", "port": {"name": "script", "version": "3"}}
def say(what):
    print(what if isinstance(what, str) else json.dumps(what), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "request":
%s
    say(DONE)
"""


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[MakePort]:
    """Make ports of small Python programs; `on_request` is what one does before `done`."""
    ports: list[ExecPort] = []

    def make(on_request: str = "pass", *, script: str = SCRIPT, limit_s: float = 30.0) -> ExecPort:
        indented = "".join(f"        {line}\n" for line in on_request.splitlines())
        path = tmp_path / f"port{len(ports)}.py"
        path.write_text(script % indented if "%s" in script else script, encoding="utf-8")
        command = shlex.join([sys.executable, str(path)])
        ports.append(ExecPort(command, limit_s=limit_s))
        return ports[-1]

    yield make
    for port in ports:
        port.shutdown()


def failure_of(port: ExecPort) -> PortFailedError:
    """What the port fails with at the first request."""
    if port._limit_s >= 30:  # an impatient one is open already
        port.open("2.7", {})
    with pytest.raises(PortFailedError) as caught:
        port.request(HEARTBEAT, ())
    return caught.value


def impatient(port: ExecPort, limit_s: float) -> ExecPort:
    """The port, open, and its limit cut only then: a busy machine starts programs slowly."""
    port.open("2.7", {})
    port._limit_s = limit_s
    return port


def is_running(pid: int) -> bool:
    """Whether a process is there and not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def is_soon_gone(pid: int) -> bool:
    """Whether a process ends within ten seconds."""
    deadline = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_running(pid)


def pid_of(port: ExecPort) -> int:
    """The id of the port's process."""
    program = port._program
    assert program is not None
    return program._process.pid


def says(**message: object) -> str:
    """The statement by which a scripted port says a message."""
    return f"say({message!r})\n"


def answers(body: object, request_id: object = 1) -> str:
    """The statement by which a scripted port says a response."""
    return says(type="response", id=request_id, body=body)


GOOD = answers({"errorCode": 0})


# --- what goes well


def test_the_port_tells_who_it_is(scripted: MakePort) -> None:
    assert scripted().open("2.7", {}) == PortInfo("script", "3")


def test_a_response_is_decoded_as_the_request_it_answers(scripted: MakePort) -> None:
    port = scripted(answers({"errorCode": 25}))
    port.open("2.7", {})
    body = HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)
    assert port.request(HEARTBEAT, {1}) == Observation((Response(1, body),))


def test_a_response_may_come_with_a_later_message(scripted: MakePort) -> None:
    port = scripted(f"if message['id'] == 2: {GOOD}")
    port.open("2.7", {})
    assert port.request(HEARTBEAT, ()) == Observation()
    seen = port.request(HEARTBEAT._replace(request_id=2), ())
    assert seen.responses == (Response(1, HeartbeatResponse(ErrorCode.NONE)),)


def test_the_state_is_shown_with_none_for_what_the_port_leaves_out(scripted: MakePort) -> None:
    offsets = [{"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 9}]}]
    members = [{"memberId": "m", "awaitingJoin": True}]
    group = {"groupId": "g", "members": members, "offsets": offsets, "pendingMembers": ["p"]}
    port = scripted(says(type="state", groups=[group]))
    port.open("2.7", {})
    committed = OffsetCommitRequestTopic("t", (OffsetCommitRequestPartition(0, 9),))
    assert port.request(HEARTBEAT, ()).groups == (
        GroupView(
            "g",
            members=(MemberView("m", awaiting_join=True),),
            pending_members=("p",),
            offsets=(committed,),
        ),
    )


def test_what_is_unsupported_is_told(scripted: MakePort) -> None:
    port = scripted(says(type="unsupported", what="Heartbeat"))
    port.open("2.7", {})
    assert port.request(HEARTBEAT, ()) == Observation(unsupported="Heartbeat")


def test_opening_again_forgets_the_requests_of_the_last_test(scripted: MakePort) -> None:
    port = scripted(GOOD)
    for _ in range(2):
        port.open("2.7", {})
        assert len(port.request(HEARTBEAT, ()).responses) == 1
        port.close()


def test_a_chatty_standard_error_blocks_nothing(scripted: MakePort) -> None:
    port = scripted("sys.stderr.write('chat ' * 200_000)")
    port.open("2.7", {})
    for n in range(3):
        port.request(HEARTBEAT._replace(request_id=n), ())


def test_messages_larger_than_a_pipe_pass_both_ways(scripted: MakePort) -> None:
    port = scripted(answers({"errorCode": 0, "protocolName": "x" * 300_000}))
    port.open("2.7", {})
    big = Protocol("p", b"\0" * 300_000)
    seen = port.request(Request(1, 7, JoinGroupRequest("g", 6_000, protocols=(big,))), ())
    assert isinstance(seen.responses[0].body, JoinGroupResponse)
    assert seen.responses[0].body.protocol_name == "x" * 300_000


# --- what cannot be reached


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/no/such/program --flag", "cannot start '/no/such/program': No such file or directory"),
        ("/etc/passwd", "cannot start '/etc/passwd': Permission denied"),
        ("", "the command is empty"),
        ("node 'unclosed", "No closing quotation"),
    ],
)
def test_a_program_that_cannot_be_started_is_unavailable(command: str, said: str) -> None:
    with pytest.raises(PortUnavailableError, match=said):
        ExecPort(command).open("2.7", {})


def test_a_program_that_ends_before_it_ever_answers_is_unavailable(tmp_path: Path) -> None:
    port = ExecPort(shlex.join([sys.executable, str(tmp_path / "missing.py")]))
    with pytest.raises(PortUnavailableError, match=r"exited with status 2 .*can't open file"):
        port.open("2.7", {})


def test_a_program_that_does_not_know_the_profile_is_unavailable(scripted: MakePort) -> None:
    line = 'print(\'{"type":"unsupported","what":"2.7"}\\n{"type":"done"}\', flush=True)'
    port = scripted(script=f"input()\n{line}\ninput()")
    with pytest.raises(PortUnavailableError, match=r"does not support 2\.7"):
        port.open("2.7", {})


# --- what goes wrong


def test_an_exit_in_the_middle_is_a_crash_with_its_last_words(scripted: MakePort) -> None:
    lines = "for n in range(30): print('word', n, file=sys.stderr)"
    failure = failure_of(scripted(f"{lines}\nsys.exit(3)"))
    assert (failure.kind, failure.reason) == ("port crashed", "the program exited with status 3")
    assert failure.detail.splitlines() == [f"word {n}" for n in range(10, 30)]


def test_a_death_by_signal_is_a_crash(scripted: MakePort) -> None:
    failure = failure_of(scripted("os.kill(os.getpid(), 9)"))
    assert failure.kind == "port crashed"
    assert failure.reason == "the program was killed by signal SIGKILL"


def test_an_exit_between_two_messages_is_a_crash(scripted: MakePort) -> None:
    port = scripted("say(DONE)\nsys.exit(4)")
    port.open("2.7", {})
    port.request(HEARTBEAT, ())
    is_soon_gone(pid_of(port))
    with pytest.raises(PortFailedError, match="exited with status 4"):
        port.advance(1, ())


def test_no_done_within_the_limit_is_a_hang(scripted: MakePort) -> None:
    port = scripted("print('dozing', file=sys.stderr)\ntime.sleep(60)")
    failure = failure_of(impatient(port, 2.0))
    assert failure.kind == "port hung"
    assert failure.reason == "no 'done' to 'request' within 2 s"
    assert failure.detail == "dozing"


def test_a_program_that_does_not_read_is_a_hang(scripted: MakePort) -> None:
    port = impatient(scripted("time.sleep(60)"), 0.5)
    with pytest.raises(PortFailedError, match="port hung"):
        port.request(HEARTBEAT._replace(client_id="x" * 1_000_000), ())


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_flood_without_done_ends(scripted: MakePort, stream: str) -> None:
    flood = f"while True: sys.{stream}.write('x' * 65_536)"
    failure = failure_of(impatient(scripted(flood), 0.5))
    assert failure.kind in {"port hung", "protocol error"}


def test_a_line_beyond_16_mib_is_a_protocol_error(scripted: MakePort) -> None:
    failure = failure_of(scripted("say('x' * (17 << 20))"))
    assert failure.kind == "protocol error"
    assert failure.reason.startswith("a line longer than 16777216 bytes: b'xxx")
    assert len(failure.reason) < 200


@pytest.mark.parametrize(
    ("on_request", "said"),
    [
        ("say('listening on 80')", "a line that is not JSON: 'listening on 80'"),
        ("say('')", "a line that is not JSON: ''"),
        ("say('[1]')", "not a JSON object: [1]"),
        ("say('[' * 200_000)", "a line that is not JSON: '[[["),
        ("sys.stdout.buffer.write(b'\\xff\\n')", "a line that is not UTF-8: b'\\xff'"),
        ("say('[' * 100 + ']' * 100)", "a message nested deeper than 20"),
        (says(type="\ud800"), "a string that cannot be written in UTF-8: '\\ud800'"),
        (answers({"errorCode": 2**63}), "a whole number of more than 64 bits"),
        ("say('{}')", "a message without 'type': {}"),
        (says(type="dome"), "a message of unknown type 'dome'"),
        (answers({}, 9), "a response to request 9, which was never sent"),
        (answers({}, 1.0), "a response without a whole number as 'id'"),
        (GOOD * 2, "a second response to request 1"),
        (answers({}), "does not fit Heartbeat version 4: Heartbeat: expected a field 'errorCode'"),
        (answers({"errorCode": "no"}), "Heartbeat.errorCode: expected an integer, got 'no'"),
        (says(type="response", id=1), "the response to request 1 has no 'body'"),
        (says(type="state"), "a state without a list of 'groups'"),
        (says(type="state", groups=[]) * 2, "a second state before 'done'"),
        (says(type="state", groups=[{}]), "state.groups[0]: expected a field 'groupId'"),
        (says(type="unsupported"), "an unsupported without 'what'"),
        (says(type="unsupported", what="x") * 2, "a second unsupported before 'done'"),
        (GOOD + says(type="unsupported", what="x"), "is both answered and unsupported"),
        (says(type="unsupported", what="x") + GOOD, "a second response to request 1"),
    ],
)
def test_what_is_not_the_protocol_is_a_protocol_error(
    scripted: MakePort, on_request: str, said: str
) -> None:
    failure = failure_of(scripted(on_request))
    assert failure.kind == "protocol error"
    assert said in failure.reason
    assert len(failure.reason) < 300


def test_a_second_done_is_a_protocol_error_at_the_next_message(scripted: MakePort) -> None:
    port = scripted("say(DONE)")
    port.open("2.7", {})
    port.request(HEARTBEAT, ())
    time.sleep(0.5)
    with pytest.raises(PortFailedError, match=r"a line that nothing was sent for: .*done"):
        port.advance(1, ())


def test_a_port_without_a_name_is_a_protocol_error(scripted: MakePort) -> None:
    port = scripted(script='input()\nprint(\'{"type":"done"}\', flush=True)\ninput()')
    with pytest.raises(PortFailedError, match="the answer to 'open' does not name the port"):
        port.open("2.7", {})


def test_the_open_after_a_failure_starts_the_program_afresh(scripted: MakePort) -> None:
    port = scripted("sys.exit(3)")
    for _ in range(2):
        failure_of(port)
        port.close()


# --- no process is left behind


def test_shutdown_lets_the_program_end_by_itself(scripted: MakePort, tmp_path: Path) -> None:
    goodbye = tmp_path / "goodbye"
    script = SCRIPT % "        pass\n" + f"open({str(goodbye)!r}, 'w').close()\n"
    port = scripted(script=script)
    port.open("2.7", {})
    pid = pid_of(port)
    port.shutdown()
    port.shutdown()
    assert goodbye.exists()
    assert not is_running(pid)


def test_shutdown_ends_a_program_that_does_not_end_by_itself(scripted: MakePort) -> None:
    stubborn = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    port = scripted(script=stubborn + SCRIPT % "        pass\n" + "time.sleep(60)\n")
    port.open("2.7", {})
    pid = pid_of(port)
    port.shutdown()
    assert not is_running(pid)


def test_a_failure_ends_the_program_and_what_it_started(scripted: MakePort, tmp_path: Path) -> None:
    child = tmp_path / "child"
    spawn = (
        "child = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(child)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)"
    )
    port = impatient(scripted(spawn), 3.0)
    pid = pid_of(port)
    with pytest.raises(PortFailedError):
        port.request(HEARTBEAT, ())
    assert not is_running(pid)
    assert is_soon_gone(int(child.read_text(encoding="utf-8")))


@pytest.mark.parametrize("ends", ["sys.exit(3)", "os.close(1); sys.exit(3)", "pass"])
def test_the_group_of_a_program_is_killed_while_the_program_still_has_its_id(
    scripted: MakePort, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ends: str
) -> None:
    child = tmp_path / "child"
    spawn = (
        "child = subprocess.Popen(['sleep', '60'], stdout=subprocess.DEVNULL)\n"
        f"open({str(child)!r}, 'w').write(str(child.pid))\n"
    )
    kill, killed = os.killpg, []

    def killpg(group: int, number: int) -> None:
        os.kill(group, 0)  # raises when there is no such process, a zombie even
        killed.append(group)
        kill(group, number)

    monkeypatch.setattr(os, "killpg", killpg)
    port = scripted(spawn + ends)
    port.open("2.7", {})
    pid = pid_of(port)
    with contextlib.suppress(PortFailedError):
        port.request(HEARTBEAT, ())
    port.shutdown()
    assert pid in killed
    assert not Path(f"/proc/{pid}").exists()
    assert is_soon_gone(int(child.read_text(encoding="utf-8")))


def test_a_program_ends_where_the_end_of_children_is_ignored(scripted: MakePort) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        port = scripted("sys.exit(3)")
        port.open("2.7", {})
        with pytest.raises(PortFailedError, match="port crashed"):
            port.request(HEARTBEAT, ())
        port.shutdown()
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_an_interrupt_ends_the_program_and_passes_through(scripted: MakePort) -> None:
    port = scripted("time.sleep(60)")
    port.open("2.7", {})
    pid = pid_of(port)

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            port.request(HEARTBEAT, ())
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not is_running(pid)


def test_a_port_that_nobody_shut_down_ends_with_the_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "deaf.py"
    script.write_text(SCRIPT % "        pass\n" + "time.sleep(60)\n", encoding="utf-8")
    code = (
        "from groupcheck.properties.ports.exec import ExecPort\n"
        f"port = ExecPort({shlex.join([sys.executable, str(script)])!r})\n"
        "port.open('2.7', {})\n"
        "print(port._program._process.pid)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=10)
    assert is_soon_gone(int(run.stdout))


# --- a scripted conversation with a coordinator in another language


class Talk:
    """A conversation with the toy coordinator, one request a line."""

    def __init__(self, port: ExecPort) -> None:
        self.port = port
        self.last_id = 0

    def __call__(self, version: int, body: RequestBody) -> dict[int, object]:
        """Send a request; what was answered, by the request's id."""
        self.last_id += 1
        return self.bodies(self.port.request(Request(self.last_id, version, body), ()))

    def advance(self, ms: int) -> dict[int, object]:
        """Let time pass; what was answered."""
        return self.bodies(self.port.advance(ms, ()))

    @staticmethod
    def bodies(seen: Observation) -> dict[int, object]:
        """What was answered, by the request's id."""
        return {response.request_id: response.body for response in seen.responses}


def join(member_id: str = "", session_ms: int = 10_000) -> JoinGroupRequest:
    """A JoinGroup of a member that supports one protocol."""
    metadata = (Protocol("range", b"meta"),)
    return JoinGroupRequest("g", session_ms, 60_000, member_id, protocols=metadata)


@contextlib.contextmanager
def toy(fault: str = "none", *, limit_s: float = 30.0) -> Iterator[Talk]:
    """The toy coordinator, open."""
    node = shutil.which("node")
    if node is None and "GROUPCHECK_REQUIRE_ALL" not in os.environ:
        pytest.skip("node is not on this machine")
    assert node is not None
    port = ExecPort(shlex.join([node, str(TOY), f"--fault={fault}"]), limit_s=limit_s)
    try:
        info = port.open("2.7", {"group.initial.rebalance.delay.ms": 0})
        assert info.name == "toy_coordinator.js"
        yield Talk(port)
    finally:
        port.shutdown()


def joined(answers: dict[int, object], request_id: int) -> JoinGroupResponse:
    """The answer to a JoinGroup."""
    body = answers[request_id]
    assert isinstance(body, JoinGroupResponse)
    return body


def stable_group(talk: Talk) -> str:
    """Bring a group with one member to Stable; the member's id."""
    required = joined(talk(7, join()), 1)
    assert required.error_code == ErrorCode.MEMBER_ID_REQUIRED
    first = joined(talk(7, join(required.member_id)), 2)
    assert (first.error_code, first.generation_id, first.leader) == (0, 1, first.member_id)
    assert [member.metadata for member in first.members] == [b"meta"]
    plan = (Assignment(first.member_id, b"all"),)
    synced = talk(5, SyncGroupRequest("g", 1, first.member_id, None, "consumer", "range", plan))
    assert synced == {3: SyncGroupResponse(ErrorCode.NONE, "consumer", "range", b"all")}
    return first.member_id


def test_a_group_of_the_toy_lives_through_two_generations() -> None:
    with toy() as talk:
        leader = stable_group(talk)
        assert talk(4, HeartbeatRequest("g", 1, leader)) == {4: HeartbeatResponse(ErrorCode.NONE)}
        assert talk(3, join()) == {}
        assert talk(4, HeartbeatRequest("g", 1, leader)) == {
            6: HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)
        }
        answers = talk(7, join(leader))
        follower = joined(answers, 5).member_id
        assert joined(answers, 5).members == ()
        assert {m.member_id for m in joined(answers, 7).members} == {leader, follower}
        assert talk(4, SyncGroupRequest("g", 2, follower)) == {}
        assert talk.advance(9_999) == {}
        # The follower is parked, so only the leader's session ends.
        assert talk.advance(1) == {8: SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS)}
        leave = LeaveGroupRequest("g", (MemberIdentity(follower),))
        talk(3, leave)
        seen = talk(0, DescribeGroupsRequest(("g", "h")))
        assert [group.group_state for group in seen[10].groups] == ["Empty", "Dead"]  # type: ignore[attr-defined]


def test_offsets_of_the_toy_are_readable_when_the_append_completes() -> None:
    with toy() as talk:
        partition = OffsetCommitRequestPartition(0, 9, 2, "note")
        commit = OffsetCommitRequest("g", topics=(OffsetCommitRequestTopic("t", (partition,)),))
        talk.port.fault(Fault("holdAppends"), ())
        assert talk(8, commit) == {}
        unstable = talk(7, OffsetFetchRequest("g", None, require_stable=True))
        assert unstable == {2: OffsetFetchResponse()}
        released = talk.bodies(talk.port.fault(Fault("releaseAppends"), ()))
        assert isinstance(released[1], OffsetCommitResponse)
        fetched = talk(7, OffsetFetchRequest("g"))[3]
        assert isinstance(fetched, OffsetFetchResponse)
        assert fetched.topics[0].partitions[0][:4] == (0, 9, 2, "note")
        assert talk(8, OffsetCommitRequest("g")) == {4: OffsetCommitResponse()}
        assert talk.port.fault(Fault("crash"), ()).unsupported == "crash"


def test_a_new_member_of_the_toy_that_heartbeats_while_parked_expires() -> None:
    with toy() as talk:
        leader = stable_group(talk)
        required = joined(talk(7, join()), 4)
        assert talk(7, join(required.member_id)) == {}
        talk(4, HeartbeatRequest("g", 1, required.member_id))
        assert talk.advance(9_000) == {}
        talk(4, HeartbeatRequest("g", 1, leader))
        assert joined(talk.advance(1_000), 5) == JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("crash", "port crashed"),
        ("hang", "port hung"),
        ("garbage", "protocol error"),
        ("answer-twice", "protocol error"),
    ],
)
def test_a_fault_in_the_toy_is_seen_as_what_it_is(fault: str, kind: str) -> None:
    with toy(fault, limit_s=3 if fault == "hang" else 30) as talk:
        with pytest.raises(PortFailedError) as caught:
            talk(0, SyncGroupRequest("g", 1, "m"))
        assert caught.value.kind == kind


def test_the_seeded_bugs_of_the_toy_show() -> None:
    with toy("old-generation-heartbeat") as talk:
        leader = stable_group(talk)
        assert talk(4, HeartbeatRequest("g", 0, leader)) == {4: HeartbeatResponse(ErrorCode.NONE)}
    with toy("follower-sees-members") as talk:
        leader = stable_group(talk)
        talk(3, join())
        assert len(joined(talk(7, join(leader)), 4).members) == 2


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    says_its_arguments = "import sys; input(); print('given', *sys.argv[1:])"
    port = ExecPort(f'{sys.executable} -c "{says_its_arguments}" > {tmp_path}/out')
    with pytest.raises(PortFailedError, match="not JSON: 'given > "):
        port.open("2.7", {})
    assert list(tmp_path.iterdir()) == []
