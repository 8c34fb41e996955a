"""Tests of the in-process port: its contract, its factory, and how it is seen to fail."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupView,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    Request,
    Response,
)
from groupcheck.properties.ports.authors_code import TooLongError, authors_code
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    PortFailedError,
    PortInfo,
    PortUnavailableError,
)
from groupcheck.properties.ports.python import PythonPort, load_factory
from groupcheck.properties.ports.python_factory import METHODS

HEARTBEAT = Request(7, 4, HeartbeatRequest("g", 3, "m"), "client-1", "/10.0.0.1")
ANSWER = {"type": "response", "id": 7, "body": {"errorCode": 25}}


class Recorder:
    """A port that says what it is told to say and remembers how it was called."""

    def __init__(self, says: object = ()) -> None:
        self.says = says
        self.calls: list[tuple[object, ...]] = []

    def _called(self, *call: object) -> object:
        self.calls.append(call)
        return self.says() if callable(self.says) else self.says

    def open(self, profile: str, config: dict[str, int]) -> object:
        self.calls.append(("open", profile, config))
        return {"name": "recorder", "version": "2"}

    def request(self, *args: object) -> object:
        return self._called("request", *args)

    def advance(self, ms: int) -> object:
        return self._called("advance", ms)

    def fault(self, fault: str, **fields: object) -> object:
        return self._called("fault", fault, fields)

    def close(self) -> object:
        return self._called("close")


def opened(says: object, limit_s: float = 30.0) -> PythonPort:
    """An open port that says this at each call."""
    port = PythonPort(lambda: Recorder(says), limit_s=limit_s)
    port.open("2.7", {})
    return port


def failure_of(says: object, limit_s: float = 30.0) -> PortFailedError:
    """What the port fails with at the first request."""
    with pytest.raises(PortFailedError) as caught:
        opened(says, limit_s).request(HEARTBEAT, ())
    return caught.value


# --- the contract


def test_the_five_messages_are_method_calls() -> None:
    recorder = Recorder()
    port = PythonPort(lambda: recorder)
    assert port.open("2.7", {"group.max.size": 3}) == PortInfo("recorder", "2")
    assert port.request(HEARTBEAT, {7}) == Observation()
    assert port.advance(500, ()) == Observation()
    assert port.fault(Fault("holdAppends"), ()) == Observation()
    port.close()
    port.shutdown()
    port.shutdown()
    body = {"groupId": "g", "generationId": 3, "memberId": "m", "groupInstanceId": None}
    assert recorder.calls == [
        ("open", "2.7", {"group.max.size": 3}),
        ("request", 7, "Heartbeat", 4, "client-1", "/10.0.0.1", body),
        ("advance", 500),
        ("fault", "holdAppends", {}),
        ("close",),
    ]


@pytest.mark.parametrize("says", [[ANSWER], (ANSWER,), lambda: iter([ANSWER])])
def test_any_iterable_of_messages_will_do(says: object) -> None:
    body = HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)
    assert opened(says).request(HEARTBEAT, ()) == Observation((Response(7, body),))


def test_a_method_that_returns_nothing_has_nothing_to_say() -> None:
    assert opened(None).request(HEARTBEAT, ()) == Observation()


def test_a_generator_is_run_to_its_end_even_at_close() -> None:
    closed = []

    def says() -> Iterator[dict[str, object]]:
        yield from ()
        closed.append(True)

    opened(says).close()
    assert closed == [True]


def test_state_and_unsupported_are_seen() -> None:
    state = {"type": "state", "groups": [{"groupId": "g", "state": "Empty"}]}
    assert opened([state]).request(HEARTBEAT, ()).groups == (GroupView("g", "Empty"),)
    unsupported = {"type": "unsupported", "what": "Heartbeat"}
    assert opened([unsupported]).request(HEARTBEAT, ()).unsupported == "Heartbeat"


def test_a_response_may_come_with_a_later_call() -> None:
    said: list[dict[str, object]] = []
    port = opened(lambda: said)
    port.request(Request(1, 7, JoinGroupRequest("g", 6_000)), ())
    said.append({"type": "response", "id": 1, "body": {"errorCode": 27}})
    body = JoinGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS)
    assert port.advance(1, ()).responses == (Response(1, body),)


def test_a_port_that_does_not_know_the_profile_is_unavailable() -> None:
    class Old(Recorder):
        def open(self, profile: str, config: dict[str, int]) -> object:
            del config
            return {"type": "unsupported", "what": profile}

    with pytest.raises(PortUnavailableError, match=r"does not support 2\.7"):
        PythonPort(Old).open("2.7", {})


# --- failures


def test_an_exception_in_the_port_is_a_crash_with_the_frames_of_the_port() -> None:
    def says() -> object:
        msg = "first line\nsecond line"
        raise LookupError(msg)

    failure = failure_of(says)
    assert (failure.kind, failure.reason) == ("port crashed", "LookupError: first line")
    assert "in says" in failure.detail
    assert "ports/python.py" not in failure.detail


def test_an_exception_in_a_generator_is_a_crash() -> None:
    def says() -> Iterator[object]:
        yield ANSWER
        raise LookupError

    assert failure_of(says).reason == "LookupError"


def test_an_exit_of_the_port_does_not_end_groupcheck() -> None:
    assert failure_of(lambda: sys.exit(3)).reason == "SystemExit: 3"


@pytest.mark.parametrize(
    ("says", "said"),
    [
        (7, "request() returned 7, no iterable of messages"),
        ({"type": "done"}, "request() returned {'type': 'done'}, no iterable of messages"),
        ("response", "request() returned 'response', no iterable of messages"),
        ([{"type": "done"}], "request() gave a 'done': returning is that"),
        ([7], "not a JSON object: 7"),
        ([ANSWER, ANSWER], "a second response to request 7"),
        ([{"type": "response", "id": 7, "body": {}}], "does not fit Heartbeat version 4"),
    ],
)
def test_what_is_not_the_contract_is_a_protocol_error(says: object, said: str) -> None:
    failure = failure_of(says)
    assert failure.kind == "protocol error"
    assert said in failure.reason


@pytest.mark.parametrize("answer", [None, {}, {"name": 7}, {"name": "x", "version": 1}, []])
def test_a_port_that_does_not_say_who_it_is_is_a_protocol_error(answer: object) -> None:
    class Nameless(Recorder):
        def open(self, profile: str, config: dict[str, int]) -> object:
            del profile, config
            return answer

    with pytest.raises(PortFailedError, match="protocol error"):
        PythonPort(Nameless).open("2.7", {})


def test_the_open_after_a_failure_makes_a_new_object() -> None:
    made: list[Recorder] = []

    def factory() -> Recorder:
        made.append(Recorder(7))
        return made[-1]

    port = PythonPort(factory)
    for _ in range(2):
        port.open("2.7", {})
        with pytest.raises(PortFailedError):
            port.request(HEARTBEAT, ())
        port.close()
    assert len(made) == 2


# --- whatever a port may say


class Hostile:
    """Fails at whatever is asked of it."""

    def _fail(self, *_: object) -> Any:
        raise LookupError

    __repr__ = __str__ = __eq__ = __iter__ = __bool__ = __len__ = __hash__ = _fail


class HostileText(str):
    __slots__ = ()
    __repr__ = __str__ = __eq__ = __iter__ = __hash__ = encode = Hostile._fail  # type: ignore[assignment]


class HostileError(Exception):
    __repr__ = __str__ = Hostile._fail


KEYS = ("type", "id", "body", "groups", "what", "groupId", "errorCode", "members", "memberId")
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.integers(-3, 30),
    st.sampled_from((64, 5_000)).map(lambda power: -(10**power)),
    st.sampled_from(("response", "state", "unsupported", "done", "Stable", "g", "\ud800")),
    st.binary(max_size=3),
    st.builds(Hostile),
    st.builds(HostileText),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
        st.dictionaries(st.sampled_from((7, None, "\ud800")), inner, max_size=1),
    ),
    max_leaves=12,
)
ANSWERS = st.fixed_dictionaries({"type": st.just("response"), "id": st.just(7), "body": ANYTHING})
STATES = st.fixed_dictionaries(
    {"type": st.just("state"), "groups": st.lists(st.dictionaries(st.sampled_from(KEYS), ANYTHING))}
)


@given(ANYTHING | st.lists(ANYTHING | ANSWERS | STATES, max_size=3))
def test_whatever_a_port_says_is_an_observation_or_a_failure_that_can_be_told(says: object) -> None:
    try:
        seen = opened(lambda: says).request(HEARTBEAT, ())
    except PortFailedError as failure:
        told = str(failure)
    else:
        told = repr(seen)
    assert told.encode()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"errorCode": "\ud800"}, r"a string that cannot be written in UTF-8: '\ud800'"),
        ({"errorCode": 10**5_000}, "a whole number of more than 64 bits"),
        ({"errorCode": 0.0}, "Heartbeat.errorCode: expected an integer, got 0.0"),
        ({"errorCode": True}, "Heartbeat.errorCode: expected an integer, got True"),
        ({"errorCode": 0, 7: 7}, "an object with a key of type int"),
        ({"errorCode": b"0"}, "not a JSON value: an object of type bytes"),
        ({"errorCode": Hostile()}, "not a JSON value: an object of type Hostile"),
    ],
)
def test_what_no_message_holds_is_a_protocol_error(body: object, said: str) -> None:
    failure = failure_of([ANSWER | {"body": body}])
    assert failure.kind == "protocol error"
    assert said in failure.reason


def test_a_message_that_holds_itself_is_a_protocol_error() -> None:
    endless: dict[str, object] = {}
    endless["body"] = endless
    assert failure_of([endless]).reason == "a message nested deeper than 20"


def test_an_exception_that_cannot_be_told_is_a_crash_all_the_same() -> None:
    def says() -> object:
        raise HostileError

    assert failure_of(says).reason == "HostileError"


class Async(Recorder):
    async def request(self, *args: object) -> object:
        return args


class CallsAsync(Recorder):
    def request(self, *args: object) -> object:
        return Async().request(*args)


def test_an_async_method_is_a_protocol_error_and_its_coroutine_is_closed() -> None:
    for kind in (Async, CallsAsync):
        port = PythonPort(kind)
        port.open("2.7", {})
        with pytest.raises(PortFailedError, match=r"request\(\) is async: the methods of a port"):
            port.request(HEARTBEAT, ())


def test_an_async_factory_is_unavailable() -> None:
    async def factory() -> Recorder:
        return Recorder()

    with pytest.raises(PortUnavailableError, match="the factory is async"):
        PythonPort(factory).open("2.7", {})


def test_what_a_port_prints_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    opened(lambda: print("in a method")).close()  # noqa: T201 (that is the point)
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "in a method\n")


# --- calls that do not return


def spin() -> None:
    """Never return, and take no notice of exceptions."""
    while True:
        with contextlib.suppress(Exception):
            time.sleep(60)


def swallow_once() -> list[object]:
    """Take the alarm for something else, and return."""
    with contextlib.suppress(BaseException):
        time.sleep(60)
    return []


def nap() -> list[object]:
    """Take a while."""
    time.sleep(0.05)
    return []


def flood() -> Iterator[object]:
    """Never end."""
    while True:
        yield ANSWER


@pytest.mark.parametrize(
    ("says", "culprit"),
    [(spin, "in spin"), (threading.Event().wait, "in wait"), (swallow_once, "")],
)
def test_a_call_that_does_not_return_is_a_hang(says: Callable[[], object], culprit: str) -> None:
    failure = failure_of(says, limit_s=1.0)
    assert failure.kind == "port hung"
    assert failure.reason == "request() did not return within 1 s"
    assert culprit in failure.detail


def test_messages_without_end_are_a_hang() -> None:
    assert failure_of(flood).reason == "request() gave more than 100000 messages"


def test_a_timer_that_was_set_before_goes_on() -> None:
    rang = threading.Event()
    before = signal.signal(signal.SIGALRM, lambda *_: rang.set())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        opened(nap).request(HEARTBEAT, ())
        assert not rang.is_set()
        assert rang.wait(2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_interrupt_passes_through() -> None:
    def says() -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        opened(says).request(HEARTBEAT, ())


def test_a_thread_other_than_the_main_one_can_use_a_port() -> None:
    seen: list[Observation] = []
    thread = threading.Thread(target=lambda: seen.append(opened([ANSWER]).request(HEARTBEAT, ())))
    thread.start()
    thread.join()
    assert len(seen[0].responses) == 1


# --- factories

MODULE = """
import sys
class Port:
    def open(self, profile, config): return {"name": "mine"}
    def request(self, request_id, api, api_version, client_id, client_host, body): return []
    def advance(self, ms): return []
    def fault(self, fault, **fields): return []
    def close(self): return []
class Narrow(Port):
    def request(self, api, body): return []
class Half:
    def open(self, profile, config): return {}
    close = 7
class Holder:
    Port = Port
def broken(): raise OSError("no such disk\\nreally")
number = 7
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module in the current directory, which is not on the path."""
    name = f"ports_of_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield name
    sys.modules.pop(name, None)


@pytest.mark.parametrize("path", ["Port", "Holder.Port"])
@pytest.mark.parametrize("prefix", ["python:", ""])
def test_a_factory_is_found_from_the_current_directory(module: str, prefix: str, path: str) -> None:
    port = PythonPort(load_factory(f"{prefix}{module}:{path}"))
    assert port.open("2.7", {}) == PortInfo("mine")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("Prot", "the module {module!r} has no 'Prot'"),
        ("number", "'number' is a int, which cannot be called"),
        ("broken", "the factory failed: OSError: no such disk"),
        ("Half", "the factory's Half lacks request(), advance(), fault(), close()"),
        (
            "Narrow",
            f"request(api, body) cannot be called with ({', '.join(METHODS['request'])})",
        ),
    ],
)
def test_what_is_wrong_with_a_factory_is_said_in_one_line(
    module: str, path: str, said: str
) -> None:
    with pytest.raises(PortUnavailableError) as caught:
        load_factory(f"python:{module}:{path}")
    assert str(caught.value) == f"python:{module}:{path}: {said.format(module=module)}"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("no_such.module:Port", "cannot import 'no_such.module': ModuleNotFoundError: No module"),
        ("no_colon", "must have the form package.module:factory"),
        (":factory", "must have the form package.module:factory"),
    ],
)
def test_a_factory_that_cannot_be_found_is_unavailable(spec: str, said: str) -> None:
    with pytest.raises(PortUnavailableError) as caught:
        load_factory(spec)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("code", ["import", "raise SystemExit(2)", "1 / 0"])
def test_a_module_that_fails_to_import_is_unavailable(module: str, code: str) -> None:
    Path(f"{module}.py").write_text(code, encoding="utf-8")
    with pytest.raises(PortUnavailableError, match="cannot import"):
        load_factory(f"{module}:Port")


def test_a_factory_that_does_not_return_is_unavailable() -> None:
    with pytest.raises(PortUnavailableError, match=r"the factory failed: it took more than 0\.2 s"):
        PythonPort(spin, limit_s=0.2).open("2.7", {})


def test_a_module_whose_import_does_not_end_is_unavailable(module: str) -> None:
    Path(f"{module}.py").write_text("import time; time.sleep(60)", encoding="utf-8")
    with pytest.raises(PortUnavailableError, match=r"cannot import '.*': it took more than 0\.2 s"):
        load_factory(f"{module}:Port", limit_s=0.2)


def test_what_is_printed_by_a_module_or_a_factory_goes_to_standard_error(
    module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    prints = "print('imported')\ndef make():\n    print('made')\n    return Port()\n"
    Path(f"{module}.py").write_text(MODULE + prints, encoding="utf-8")
    load_factory(f"{module}:make")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "imported\nmade\n")


def test_a_factory_that_fails_at_open_is_unavailable() -> None:
    with pytest.raises(PortUnavailableError, match="the factory failed: ZeroDivisionError"):
        PythonPort(lambda: 1 / 0).open("2.7", {})


def test_an_alarm_that_rings_while_hypothesis_counts_garbage_is_not_lost() -> None:
    rang: list[BaseException] = []

    def gc_callback() -> None:
        started = time.monotonic()
        try:
            while time.monotonic() - started < 0.2:
                pass
        except TooLongError as lost:
            rang.append(lost)

    def hang() -> None:
        gc_callback()
        time.sleep(10)

    with pytest.raises(TooLongError), authors_code(0.05):
        hang()
    assert not rang
