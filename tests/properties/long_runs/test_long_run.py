"""Long runs: their resume file, and what happens when the broker is unavailable."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from groupcheck.cli import main
from groupcheck.model.classic.config import CLEANUP_INTERVAL, RETENTION
from groupcheck.model.classic.instances.inputs import GROUP_ID, TOPIC, commit, fetch, offset_delete
from groupcheck.model.classic.instances.instance import DELAY
from groupcheck.model.classic.instances.real_time import AtOnce, real_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Advance, Cleanup, Coordinator
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.vocabulary import DeleteGroupsRequest, ListGroupsRequest, Request
from groupcheck.properties.generators.context import SESSION_TIMEOUTS_MS
from groupcheck.properties.long_runs import attempts, availability
from groupcheck.properties.long_runs.availability import AvailabilityMonitor
from groupcheck.properties.long_runs.live_walk import LONGEST_WAIT_MS, Pace
from groupcheck.properties.long_runs.long_run import Kind, long_run
from groupcheck.properties.long_runs.resume_file import (
    FOUND,
    Entry,
    MalformedResumeFileError,
    ResumeFile,
)
from groupcheck.properties.long_runs.timers import Cleaning, timed_instances, waits_for_cleanups
from groupcheck.properties.ports.health_check import HealthCheck, HealthCheckError
from groupcheck.properties.ports.port import PortUnavailableError
from groupcheck.properties.ports.source import port_source
from groupcheck.properties.ports.wire import WirePort
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.run import replay_seen
from groupcheck.properties.sequence import Sequence
from groupcheck.properties.verify import Verification
from groupcheck.reports.terminal import summary
from groupcheck.reports.verification_record import result_record
from support.differences_on_the_wire import Asked, Shown
from support.served_process import Process, served
from support.spaces import explored_once

pytestmark = pytest.mark.slow  # on a real clock

EXPIRING: Final = {DELAY: 0, RETENTION: 1, CLEANUP_INTERVAL: 1_000}
QUERY: Final = f"{RETENTION}=1&{CLEANUP_INTERVAL}=1000"
SETTINGS = Settings(members=1, steps=12, sequences=60, side_by_side=8)
IN_ALL = 60


@pytest.fixture
def untimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the timed walks, which take long."""
    stages = {"tours": Kind(60, tours=True), "walks": Kind(40)}
    monkeypatch.setattr("groupcheck.properties.long_runs.long_run.STAGES", stages)


class ActAfter:
    """A progress that runs an action after `after` sequences."""

    def __init__(self, action: Callable[[], None], after: int = 20) -> None:
        self._action, self._left = action, after
        self._lock = threading.Lock()

    def __call__(self, what: str, _total: int | None) -> Callable[[int], None]:
        return self._tell if "concurrent" in what else lambda _done: None

    def _tell(self, done: int) -> None:
        with self._lock:
            before, self._left = self._left, self._left - done
        if self._left <= 0 < before:
            self._action()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    with served(tmp_path / "data") as started:
        yield started


def run(
    server: Process,
    progress: ActAfter | None = None,
    *,
    resume_file: Path | None = None,
    settings: Settings = SETTINGS,
    patience_s: float = 30.0,
) -> Result:
    source = port_source(f"kafka://127.0.0.1:{server.port}")
    action = progress or ActAfter(lambda: None)
    schedule = long_run(resume_file, patience_s)
    return Verification(source, settings, action, schedule=schedule).run()


def lines_of(result: Result) -> str:
    return summary(result_record(result), [])


@pytest.mark.usefixtures("untimed")
def test_every_sequence_is_decided_while_the_broker_is_available(server: Process) -> None:
    result = run(server)
    assert result.conforms
    assert (result.sequences, result_record(result).undecided, result.outages) == (IN_ALL, 0, [])
    assert [(stage.name, stage.sequences) for stage in result.stages] == [
        ("tours", 36),
        ("walks", 24),
    ]
    assert {each.name for each in result.instances} == {
        "order",
        "order-static",
        "order-administration",
        "order-transactions",
    }
    assert "stage      tours: 36 sequences" in lines_of(result)


def test_timers_fire_in_timed_walks(server: Process) -> None:
    result = run(server, settings=SETTINGS._replace(sequences=12, steps=8, stage="timed walks"))
    assert result.conforms or not any(i.transitions.requests_covered for i in result.instances)
    assert result.findings == []
    assert result.stages[0].steps > 12
    assert result.stages[0].seconds > 2


def test_timed_tours_cover_the_ends_of_sessions_rebalances_and_pending_ids(
    server: Process,
) -> None:
    settings = SETTINGS._replace(sequences=30, steps=20, side_by_side=15, stage="timed tours")
    result = run(server, settings=settings)
    assert result.conforms
    assert [stage.name for stage in result.stages] == ["timed tours"]
    (timers,) = (each.transitions for each in result.instances if each.name == "timers")
    assert timers.covered > 0.9 * timers.total


@pytest.mark.parametrize("broker", [{DELAY: 0}, EXPIRING], ids=["timers", "expiry"])
@pytest.mark.parametrize("name", ["0.10.2", "2.7", "4.1"])
def test_a_state_of_a_timed_tour_stays_the_same_for_a_part_of_a_tick(
    name: str, broker: dict[str, int]
) -> None:
    profile = PROFILES[name]
    for instance in timed_instances(profile, 2, broker).values():
        space = explored_once(instance)
        for number, state in enumerate(space.nodes):
            timer = state.group.join_timer if state.group else None
            waits = any(isinstance(given, Advance) for given in instance.inputs(state))
            lasts = waits and (timer is None or timer.left_ms)
            for ms in (1, instance.tick_ms - 1) if lasts else ():
                (later,) = successors(state, Advance(ms), profile, instance.config)
                assert space.numbers[instance.canonical(later.coordinator).node] == number


@pytest.mark.parametrize("name", ["0.10.2", "2.7", "4.1"])
def test_cleanups_during_a_tick_have_the_effect_of_the_cleanup_after_it(name: str) -> None:
    profile = PROFILES[name]
    for instance in timed_instances(profile, 1, EXPIRING).values():
        assert isinstance(instance, Cleaning)
        tick = Advance(instance.IN_A_TICK * instance.tick_ms)
        parts: list[Input] = [Advance(tick.ms // 8), Cleanup()] * 8

        def after(state: Coordinator, *steps: Input, on: Cleaning = instance) -> set[Coordinator]:
            states = {state}
            for step in steps:
                states = {o.coordinator for each in states for o in on.successors(each, step)}
            return {on.canonical(each).node for each in states}

        for state in explored_once(instance).nodes:
            if tick in instance.inputs(state):
                assert after(state, tick, Cleanup()) == after(state, *parts)


def test_offsets_expire_in_timed_tours_of_a_broker_with_frequent_cleanups() -> None:
    source = port_source(f"serve:4.1?{QUERY}")
    settings = Settings("4.1", sequences=80, steps=6, stage="timed tours")
    try:
        verification = Verification(source, settings, schedule=long_run())
        result = verification.run()
    finally:
        source.stop()
    assert result.findings == []
    assert {each.name for each in result.instances} == {"expiry", "expiry-transactions"}
    applied = verification.covered()["4.1"].applied
    assert {"cleanup/simple", "cleanup/group-removed"} <= applied
    expiry = next(each.transitions for each in result.instances if each.name == "expiry")
    assert expiry.covered > 0.1 * expiry.total


def test_only_timed_tours_run_on_a_broker_whose_offsets_expire() -> None:
    source = port_source(f"serve?{QUERY}")
    try:
        for schedule in (long_run(), None):
            with pytest.raises(PortUnavailableError, match="Only timed tours"):
                Verification(source, SETTINGS, schedule=schedule).run()
    finally:
        source.stop()


@pytest.mark.parametrize(
    "settings", [f"{DELAY}=3000", "group.max.session.timeout.ms=5000"], ids=["delay", "sessions"]
)
def test_no_walk_replaces_timed_tours_on_a_broker_whose_offsets_expire(settings: str) -> None:
    source = port_source(f"serve?{QUERY}&{settings}")
    try:
        with pytest.raises(PortUnavailableError, match="no timed tours in which offsets expire"):
            Verification(source, SETTINGS._replace(stage="timed tours"), schedule=long_run()).run()
    finally:
        source.stop()


COMMITTED: Final = Request(1, 8, commit(-1, ""))
FETCHED: Final = Request(2, 7, fetch(require_stable=False))
EXPIRED: Final = (COMMITTED, Advance(61_000), Cleanup(), FETCHED)


def test_a_sequence_that_does_not_wait_for_a_cleanup_shows_nothing() -> None:
    waited = Sequence("2.7", EXPIRING, EXPIRED)
    hasty = (*EXPIRED[:2], FETCHED)
    assert waits_for_cleanups(waited)
    assert not waits_for_cleanups(waited._replace(steps=hasty))
    assert waits_for_cleanups(waited._replace(steps=(COMMITTED, FETCHED)))
    assert waits_for_cleanups(Sequence("2.7", {}, hasty))


def test_a_sequence_with_expiry_is_replayed_in_virtual_time_and_on_no_other_broker(
    server: Process,
) -> None:
    sequence = Sequence("2.7", EXPIRING, EXPIRED)
    assert replay_seen(sequence, port_source("builtin").connect()).finding is None
    port = port_source(f"kafka://127.0.0.1:{server.port}").connect()
    with pytest.raises(PortUnavailableError, match=CLEANUP_INTERVAL):
        replay_seen(sequence, port)


def test_there_are_no_timed_tours_for_a_broker_with_an_initial_delay_or_long_sessions() -> None:
    profile = PROFILES["4.1"]
    assert not timed_instances(profile, 2, {DELAY: 3_000})
    assert not timed_instances(profile, 2, {DELAY: 0, "group.min.session.timeout.ms": 60_000})
    assert {i.tick_ms for i in timed_instances(profile, 2, {DELAY: 0}).values()} == {2_000}


@pytest.mark.usefixtures("untimed")
def test_sequences_during_a_restart_of_the_broker_are_undecided(
    server: Process, tmp_path: Path
) -> None:
    again: list[Process] = []

    def restart() -> None:
        server.kill()
        again.append(Process(tmp_path / "data", "--listen", f"127.0.0.1:{server.port}"))

    try:
        result = run(server, ActAfter(restart))
    finally:
        for each in again:
            each.kill()
    assert result.findings == []
    assert result.ended_early == ""
    assert result.sequences == IN_ALL
    assert 0 < result_record(result).undecided <= 2 * SETTINGS.side_by_side
    assert len(result.outages) == 1
    said = lines_of(result)
    assert " s later\n" in said
    assert f"undecided  {result_record(result).undecided} sequence" in said


@pytest.mark.usefixtures("untimed")
def test_sequences_run_again_after_the_broker_was_paused(server: Process) -> None:
    def stop() -> None:
        server.process.send_signal(signal.SIGSTOP)
        threading.Timer(2.5, server.process.send_signal, (signal.SIGCONT,)).start()

    result = run(server, ActAfter(stop))
    assert result.findings == []
    assert result.ended_early == ""
    assert result.sequences == IN_ALL
    assert result_record(result).undecided == 0
    assert len(result.outages) >= 1
    assert "did not answer within 1 s" in result.outages[0].reason


@pytest.mark.usefixtures("untimed")
def test_run_whose_broker_does_not_come_back_ends_early_and_can_be_resumed(
    server: Process, tmp_path: Path
) -> None:
    resume_file = tmp_path / "run.jsonl"
    before = threading.active_count()
    result = run(server, ActAfter(server.kill), resume_file=resume_file, patience_s=1.5)
    assert result.findings == []
    assert "and was not back within 1.5 s" in result.ended_early
    assert 20 <= result.sequences < IN_ALL
    assert result_record(result).undecided > 0
    assert "; no finding so far" in lines_of(result)
    assert threading.active_count() == before

    undecided = result_record(result).undecided
    again = Process(tmp_path / "data", "--listen", f"127.0.0.1:{server.port}")
    try:
        result = run(again, resume_file=resume_file)
    finally:
        again.kill()
    assert result.ended_early == ""
    assert (result.sequences, result_record(result).undecided) == (IN_ALL, 0)
    lines = resume_file.read_text().splitlines()
    numbers = [json.loads(line)["n"] for line in lines[1:]]
    assert set(numbers) == set(range(IN_ALL))
    # Only undecided sequences ran again.
    assert len(numbers) == IN_ALL + undecided


def test_ctrl_c_ends_a_long_run_at_once_with_its_results(server: Process, tmp_path: Path) -> None:
    resume_file = tmp_path / "run.jsonl"
    port = f"kafka://127.0.0.1:{server.port}"
    asked = ["--sequences=100000", "--members=1", f"--resume={resume_file}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "groupcheck", "verify", port, *asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not resume_file.exists() or resume_file.read_bytes().count(b"\n") < 20:
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said, complaint = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "verdict    interrupted; no finding so far" in said
    assert "Traceback" not in complaint
    lines = resume_file.read_bytes().splitlines(keepends=True)
    assert all(json.loads(line) and line.endswith(b"\n") for line in lines)


@pytest.mark.usefixtures("untimed")
def test_run_resumes_where_it_ended(server: Process, tmp_path: Path) -> None:
    resume_file = tmp_path / "run.jsonl"
    first = run(server, resume_file=resume_file)
    size = resume_file.stat().st_size
    with resume_file.open("ab") as file:
        file.write(b'{"n":5,"sta')  # killed in the middle of a line
    second = run(server, resume_file=resume_file)
    assert resume_file.stat().st_size == size
    assert (second.sequences, second.steps) == (first.sequences, first.steps)
    assert second.covered_transitions == first.covered_transitions
    assert second.seconds >= second.stages[-1].seconds


@pytest.mark.usefixtures("untimed")
def test_resumed_run_drops_a_finding_whose_replays_end_the_broker_each_time(
    server: Process, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resume_file = tmp_path / "run.jsonl"
    run(server, resume_file=resume_file)
    header = json.loads(resume_file.read_text().partition("\n")[0])
    sequence = Sequence("2.7", {}, (Request(1, 0, ListGroupsRequest()),))
    with ResumeFile(resume_file, {name: header[name] for name in header if name != "run"}) as file:
        file.add(Entry(0, "walks", 1, FOUND, 0.0, 0.0, sequence=sequence))
    replays = []

    def disturbed(_monitor: AvailabilityMonitor, attempt: attempts.Attempt) -> NoReturn:
        replays.append(attempt)
        raise attempts.DisturbedError(attempts.Ran(1))

    monkeypatch.setattr("groupcheck.properties.long_runs.long_run.attempted", disturbed)
    result = run(server, resume_file=resume_file)
    assert (result.findings, result.not_reproduced, result.ended_early) == ([], 1, "")
    assert len(replays) == attempts.TRIES


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{}\n", "not the resume file of a long run"),
        ("[]\n", "not the resume file of a long run"),
        ("what\n", "not the resume file of a long run"),
        ('{"run":1,"seed":1}\n', "the file's seed is 1, this run's is 0"),
        ('{"run":1,"seed":0}\n{"n":1}\n', "not the resume file of a long run"),
    ],
)
def test_file_that_is_no_resume_file_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    with pytest.raises(MalformedResumeFileError, match=complaint):
        ResumeFile(path, {"seed": 0})
    assert path.read_text() == text


def test_invalid_combinations_of_options_are_refused(
    server: Process, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("what\n")
    port = f"kafka://127.0.0.1:{server.port}"
    assert main(["verify", port, "--sequences=1", "--members=1", f"--resume={path}"]) == 2
    assert "not the resume file of a long run" in capsys.readouterr().err
    assert main(["verify", "builtin", "--sequences=1"]) == 2
    assert "--sequences is for live brokers" in capsys.readouterr().err
    assert main(["verify", port, f"--resume={path}"]) == 2
    assert "--resume needs --sequences" in capsys.readouterr().err
    assert main(["verify", port, "--sequences=1", f"--resume={tmp_path}"]) == 2
    assert f"cannot store the run in {tmp_path}" in capsys.readouterr().err


def test_health_check_fails_when_the_server_has_ended(server: Process) -> None:
    health_check = HealthCheck(lambda: ("127.0.0.1", server.port), threading.Event())
    health_check.run(5.0)
    server.kill()
    with pytest.raises(HealthCheckError, match=r"closed the connection|broke the connection"):
        health_check.run(5.0)
    with pytest.raises(HealthCheckError, match="cannot be reached"):
        health_check.run(5.0)
    health_check.close()


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("least_ms", [100, 6_000])
def test_timeouts_of_untimed_walks_never_end(*, timed: bool, least_ms: int) -> None:
    pace = Pace(timed, {"group.min.session.timeout.ms": least_ms})
    for drawn_ms in SESSION_TIMEOUTS_MS:
        session_ms = pace.session_ms(drawn_ms)
        if drawn_ms in {1, 5_999}:
            assert not least_ms <= session_ms <= 1_800_000
        else:
            assert least_ms <= session_ms <= 1_800_000
            assert (session_ms < LONGEST_WAIT_MS) == timed
        assert pace.session_ms(session_ms) >= min(session_ms, least_ms)


def test_list_and_delete_groups_over_the_wire_see_only_the_groups_of_the_test(
    server: Process,
) -> None:
    source = port_source(f"kafka://127.0.0.1:{server.port}")
    ports = [source.connect(), source.connect()]
    settings = source.broker_settings().values
    asked = (Asked(2, commit(-1, "")), Asked(0, ListGroupsRequest()))
    deleted = (Asked(0, offset_delete(TOPIC)), Asked(1, DeleteGroupsRequest((GROUP_ID,))))
    steps = Shown("", "2.7", "2.7", (*asked, *deleted, asked[1])).on("2.7", 0)
    for port in ports:  # there are groups of both by then
        for step in steps[:2]:
            seen = replay_seen(Sequence("2.7", settings, steps[:1]), port)
            assert seen.finding is None, step
    for port in ports:
        seen = replay_seen(Sequence("2.7", settings, steps), port)
        assert seen.finding is None
        answers = [exchange.seen.responses[0].body for exchange in seen.exchanges]
        assert [len(a.groups) for a in (answers[1], answers[4])] == [1, 0]  # type: ignore[union-attr]
        port.shutdown()


@pytest.mark.parametrize("name", ["0.10.2", "2.7", "4.1"])
def test_no_request_arrives_during_an_initial_delay_of_0(name: str) -> None:
    profile = PROFILES[name]
    spaces = real_time_instances(profile, 1, {DELAY: 0})
    assert ("order-static" in spaces) == (name != "0.10.2")
    for instance in spaces.values():
        space = explored_once(instance)
        for state, edges in zip(space.nodes, space.edges, strict=True):
            timer = state.group.join_timer if state.group else None
            if timer is not None and timer.initial:
                assert {type(edge.given) for edge in edges} == {Advance}
    delayed = real_time_instances(profile, 1, {DELAY: 3_000})
    assert not any(isinstance(instance, AtOnce) for instance in delayed.values())


@pytest.mark.usefixtures("untimed")
def test_broker_that_was_started_for_the_run_is_restarted() -> None:
    source = port_source("serve")

    def end() -> None:
        running = source.stop.__self__.shared._running  # type: ignore[attr-defined]
        assert not running.ended
        os.kill(running.programs.pids["serve"], signal.SIGKILL)

    try:
        result = Verification(source, SETTINGS, ActAfter(end), schedule=long_run()).run()
    finally:
        source.stop()
    assert result.findings == []
    assert result.ended_early == ""
    assert result.sequences == IN_ALL
    assert all(stage.undecided == 0 for stage in result.stages if stage.name == "walks")
    assert len(result.outages) == 1


class AlwaysHealthy(HealthCheck):
    """Succeeds at once."""

    def run(self, within_s: float) -> None:
        """Do nothing."""


def test_suspended_machine_counts_as_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead_s = 0.0
    monkeypatch.setattr(availability, "monotonic", lambda: time.monotonic() + ahead_s)
    health_check = AlwaysHealthy(lambda: ("127.0.0.1", 0), threading.Event())
    with AvailabilityMonitor(health_check, slow_s=1.0, patience_s=60.0) as monitor:
        began_s = time.monotonic()
        assert not monitor.was_down(began_s)
        ahead_s = 5.0
        assert monitor.was_down(began_s)
        assert not monitor.has_ended(began_s)
        assert not monitor.is_down
        assert not monitor.was_down(time.monotonic() + ahead_s)
    (outage,) = monitor.outages
    assert outage.reason == "was suspended with this machine"
    assert outage.ended_s is not None
    assert outage.ended_s - outage.began_s > 4


def unreached(monkeypatch: pytest.MonkeyPatch, fails: Callable[[int], bool]) -> None:
    """Make the connections with these numbers time out."""
    connect, numbers = WirePort._connect, count()

    def fail(port: WirePort, selector: Any) -> Any:
        if fails(next(numbers)):
            raise TimeoutError
        return connect(port, selector)

    monkeypatch.setattr(WirePort, "_connect", fail)
    monkeypatch.setattr(attempts, "RETRY_S", 0.05)


@pytest.mark.usefixtures("untimed")
def test_available_broker_that_cannot_be_reached_is_retried(
    server: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    unreached(monkeypatch, lambda number: number < SETTINGS.side_by_side)
    result = run(server)
    assert result.conforms
    assert (result.sequences, result_record(result).undecided, result.ended_early) == (
        IN_ALL,
        0,
        "",
    )


@pytest.mark.usefixtures("untimed")
def test_available_broker_that_can_never_be_reached_ends_the_run(
    server: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    unreached(monkeypatch, lambda number: number > 0)
    result = run(server, settings=SETTINGS._replace(side_by_side=2))
    assert result.findings == []
    assert "no response in time (3 times, though the broker is available)" in result.ended_early


def test_interrupted_monitor_ends_every_wait(server: Process) -> None:
    interrupted = threading.Event()
    health_check = HealthCheck(lambda: ("127.0.0.1", server.port), interrupted)
    with AvailabilityMonitor(health_check, 5.0, 60.0) as monitor:
        monitor.wait()
        assert not monitor.was_down(time.monotonic())
        interrupted.set()
        while monitor.was_down(time.monotonic()) is False:
            pass
        with pytest.raises(PortUnavailableError, match="interrupted"):
            monitor.wait()
