"""The in-process port: its methods, factory and failures; the rest is in `test_contract`."""

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
    HeartbeatRequest,
    HeartbeatResponse,
    Request,
    Response,
)
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    PortFailedError,
    PortInfo,
    PortUnavailableError,
)
from groupcheck.properties.ports.python import PythonPort, load_factory
from groupcheck.properties.ports.user_code import METHODS, TooLongError, user_code_guard

HEARTBEAT = Request(7, 4, HeartbeatRequest("g", 3, "m"), "client-1", "/10.0.0.1")
ANSWER = {"type": "response", "id": 7, "body": {"errorCode": 25}}


class Recorder:
    """A port that returns the same messages from each call and records the calls."""

    def __init__(self, messages: object = ()) -> None:
        self.messages = messages
        self.calls: list[tuple[object, ...]] = []

    def _called(self, *call: object) -> object:
        self.calls.append(call)
        return self.messages() if callable(self.messages) else self.messages

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


def opened(messages: object, limit_s: float = 30.0) -> PythonPort:
    """Return an open port that returns these messages from each call."""
    port = PythonPort(lambda: Recorder(messages), limit_s=limit_s)
    port.open("2.7", {})
    return port


def failure_of(messages: object, limit_s: float = 30.0) -> PortFailedError:
    """Return the failure of the first request."""
    with pytest.raises(PortFailedError) as caught:
        opened(messages, limit_s).request(HEARTBEAT, ())
    return caught.value


# --- the contract


def test_each_message_of_the_protocol_is_a_method_call() -> None:
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


@pytest.mark.parametrize("messages", [[ANSWER], (ANSWER,), lambda: iter([ANSWER])])
def test_methods_may_return_any_iterable_of_messages(messages: object) -> None:
    body = HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)
    assert opened(messages).request(HEARTBEAT, ()) == Observation((Response(7, body),))


def test_none_means_no_messages() -> None:
    assert opened(None).request(HEARTBEAT, ()) == Observation()


def test_generator_runs_to_its_end_even_at_close() -> None:
    closed = []

    def messages() -> Iterator[dict[str, object]]:
        yield from ()
        closed.append(True)

    opened(messages).close()
    assert closed == [True]


def test_port_that_does_not_know_the_profile_is_unavailable() -> None:
    class Old(Recorder):
        def open(self, profile: str, config: dict[str, int]) -> object:
            del config
            return {"type": "unsupported", "what": profile}

    with pytest.raises(PortUnavailableError, match=r"does not support 2\.7"):
        PythonPort(Old).open("2.7", {})


# --- failures


def test_exception_is_a_crash_with_the_frames_of_the_port() -> None:
    def messages() -> object:
        msg = "first line\nsecond line"
        raise LookupError(msg)

    failure = failure_of(messages)
    assert (failure.kind, failure.reason) == ("port crashed", "LookupError: first line")
    assert "in messages" in failure.detail
    assert "ports/python.py" not in failure.detail


def test_exception_in_a_generator_is_a_crash() -> None:
    def messages() -> Iterator[object]:
        yield ANSWER
        raise LookupError

    assert failure_of(messages).reason == "LookupError"


def test_exit_of_the_port_does_not_end_groupcheck() -> None:
    assert failure_of(lambda: sys.exit(3)).reason == "SystemExit: 3"


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        (7, "request() returned 7, not a list of messages"),
        ({"type": "done"}, "request() returned {'type': 'done'}, not a list of messages"),
        ("response", "request() returned 'response', not a list of messages"),
        ([{"type": "done"}], "request() returned a 'done': returning means that"),
    ],
)
def test_return_value_that_is_no_list_of_messages_is_a_protocol_error(
    messages: object, reason: str
) -> None:
    failure = failure_of(messages)
    assert failure.kind == "protocol error"
    assert reason in failure.reason


@pytest.mark.parametrize("answer", [None, {}, {"name": 7}, {"name": "x", "version": 1}, []])
def test_port_without_a_name_is_a_protocol_error(answer: object) -> None:
    class WithoutName(Recorder):
        def open(self, profile: str, config: dict[str, int]) -> object:
            del profile, config
            return answer

    with pytest.raises(PortFailedError, match="protocol error"):
        PythonPort(WithoutName).open("2.7", {})


def test_open_after_a_failure_makes_a_new_object() -> None:
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


# --- arbitrary return values


class Hostile:
    """Raises from every operation."""

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
def test_any_return_value_gives_an_observation_or_a_printable_failure(messages: object) -> None:
    try:
        seen = opened(lambda: messages).request(HEARTBEAT, ())
    except PortFailedError as failure:
        shown = str(failure)
    else:
        shown = repr(seen)
    assert shown.encode()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"errorCode": 10**5_000}, "an integer of more than 64 bits"),
        ({"errorCode": 0, 7: 7}, "an object with a key of type int"),
        ({"errorCode": b"0"}, "not a JSON value: an object of type bytes"),
        ({"errorCode": Hostile()}, "not a JSON value: an object of type Hostile"),
    ],
)
def test_value_that_is_not_json_is_a_protocol_error(body: object, reason: str) -> None:
    failure = failure_of([ANSWER | {"body": body}])
    assert failure.kind == "protocol error"
    assert reason in failure.reason


def test_exception_without_a_printable_message_is_a_crash() -> None:
    def messages() -> object:
        raise HostileError

    assert failure_of(messages).reason == "HostileError"


class Async(Recorder):
    async def request(self, *args: object) -> object:
        return args


class CallsAsync(Recorder):
    def request(self, *args: object) -> object:
        return Async().request(*args)


def test_async_method_is_a_protocol_error_and_its_coroutine_is_closed() -> None:
    for kind in (Async, CallsAsync):
        port = PythonPort(kind)
        port.open("2.7", {})
        with pytest.raises(PortFailedError, match=r"request\(\) is async: the methods of a port"):
            port.request(HEARTBEAT, ())


def test_async_factory_is_unavailable() -> None:
    async def factory() -> Recorder:
        return Recorder()

    with pytest.raises(PortUnavailableError, match="the factory is async"):
        PythonPort(factory).open("2.7", {})


def test_output_of_a_port_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    opened(lambda: print("in a method")).close()  # noqa: T201 (the check is about it)
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "in a method\n")


# --- calls that do not return


def spin() -> None:
    """Never return, and swallow exceptions."""
    while True:
        with contextlib.suppress(Exception):
            time.sleep(60)


def swallow_once() -> list[object]:
    """Swallow the alarm, and return."""
    with contextlib.suppress(BaseException):
        time.sleep(60)
    return []


def nap() -> list[object]:
    """Return after a pause."""
    time.sleep(0.05)
    return []


def flood() -> Iterator[object]:
    """Yield messages without end."""
    while True:
        yield ANSWER


@pytest.mark.parametrize(
    ("messages", "culprit"),
    [(spin, "in spin"), (threading.Event().wait, "in wait"), (swallow_once, "")],
)
def test_call_that_does_not_return_is_a_hang(messages: Callable[[], object], culprit: str) -> None:
    failure = failure_of(messages, limit_s=1.0)
    assert failure.kind == "port hung"
    assert failure.reason == "request() did not return within 1 s"
    assert culprit in failure.detail


def test_endless_messages_are_a_hang() -> None:
    assert failure_of(flood).reason == "request() returned more than 100000 messages"


def test_earlier_timer_resumes_after_a_call() -> None:
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


def test_interrupt_propagates() -> None:
    def messages() -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        opened(messages).request(HEARTBEAT, ())


def test_port_works_outside_the_main_thread() -> None:
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
    """Write a module to the current directory, which is not on the path; return its name."""
    name = f"ports_of_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield name
    sys.modules.pop(name, None)


@pytest.mark.parametrize("path", ["Port", "Holder.Port"])
@pytest.mark.parametrize("prefix", ["python:", ""])
def test_factory_is_found_in_the_current_directory(module: str, prefix: str, path: str) -> None:
    port = PythonPort(load_factory(f"{prefix}{module}:{path}"))
    assert port.open("2.7", {}) == PortInfo("mine")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("Prot", "the module {module!r} has no 'Prot'"),
        ("number", "'number' is not callable: it is of type int"),
        ("broken", "the factory failed: OSError: no such disk"),
        ("Half", "the object of type Half has no request(), advance(), fault(), close()"),
        ("Narrow", f"request(api, body) cannot be called with ({', '.join(METHODS['request'])})"),
    ],
)
def test_invalid_factory_is_reported_in_one_line(module: str, path: str, reason: str) -> None:
    with pytest.raises(PortUnavailableError) as caught:
        load_factory(f"python:{module}:{path}")
    assert str(caught.value) == f"python:{module}:{path}: {reason.format(module=module)}"


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("no_such.module:Port", "cannot import 'no_such.module': ModuleNotFoundError: No module"),
        ("no_colon", "must have the form package.module:factory"),
        (":factory", "must have the form package.module:factory"),
    ],
)
def test_factory_that_cannot_be_found_is_unavailable(spec: str, reason: str) -> None:
    with pytest.raises(PortUnavailableError) as caught:
        load_factory(spec)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("code", ["import", "raise SystemExit(2)", "1 / 0"])
def test_module_that_fails_to_import_is_unavailable(module: str, code: str) -> None:
    Path(f"{module}.py").write_text(code, encoding="utf-8")
    with pytest.raises(PortUnavailableError, match="cannot import"):
        load_factory(f"{module}:Port")


def test_factory_that_does_not_return_is_unavailable() -> None:
    with pytest.raises(PortUnavailableError, match=r"the factory failed: it took more than 0\.2 s"):
        PythonPort(spin, limit_s=0.2).open("2.7", {})


def test_module_whose_import_does_not_end_is_unavailable(module: str) -> None:
    Path(f"{module}.py").write_text("import time; time.sleep(60)", encoding="utf-8")
    with pytest.raises(PortUnavailableError, match=r"cannot import '.*': it took more than 0\.2 s"):
        load_factory(f"{module}:Port", limit_s=0.2)


def test_output_of_a_module_and_a_factory_goes_to_standard_error(
    module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    prints = "print('imported')\ndef make():\n    print('made')\n    return Port()\n"
    Path(f"{module}.py").write_text(MODULE + prints, encoding="utf-8")
    load_factory(f"{module}:make")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "imported\nmade\n")


def test_factory_that_fails_at_open_is_unavailable() -> None:
    with pytest.raises(PortUnavailableError, match="the factory failed: ZeroDivisionError"):
        PythonPort(lambda: 1 / 0).open("2.7", {})


def test_alarm_at_the_end_of_a_guarded_block_is_postponed_and_the_handler_is_reset() -> None:
    before = signal.getsignal(signal.SIGALRM)
    rang: list[BaseException] = []

    @contextlib.contextmanager
    def frame_of_contextlib() -> Iterator[Any]:
        yield sys._getframe(1)

    def ring() -> None:
        handler: Any = signal.getsignal(signal.SIGALRM)
        with frame_of_contextlib() as frame:
            try:
                handler(signal.SIGALRM, frame)
            except TooLongError as early:
                rang.append(early)
        time.sleep(10)

    with pytest.raises(TooLongError), user_code_guard(30):
        ring()
    assert not rang
    assert signal.getsignal(signal.SIGALRM) is before


def test_alarm_during_hypothesis_garbage_collection_callback_is_not_lost() -> None:
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

    with pytest.raises(TooLongError), user_code_guard(0.05):
        hang()
    assert not rang
