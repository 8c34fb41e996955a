"""The command line: output, exit status, and one line for each failure."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from groupcheck.cli import main
from groupcheck.model.classic.instances.inputs import GROUP_ID, NOBODY
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.vocabulary import HeartbeatRequest, Request
from groupcheck.properties.ports.source import FORMS
from groupcheck.properties.sequence import Sequence, dump
from support.economy import slow_if
from support.progress import without_progress

HEARTBEAT = Sequence("2.7", {}, (Request(1, 4, HeartbeatRequest(GROUP_ID, 0, NOBODY)),))
ENVIRONMENT: Final = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
SMALL: Final = "python:support.small_ports"
TOO_LITTLE: Final = (
    "groupcheck: too little is covered: 1.2 % of 598 supported transitions, less than"
    " --fail-under 99.5\n"
)
QUICK = ["--examples", "5", "--members", "1", "--walks", "20"]


def test_a_conforming_port_has_exit_status_0_and_a_run_leaves_no_files(
    printed: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = printed("verify", "builtin", *QUICK)
    assert "instance   membership: 61 states, 682 transitions; 100 %" in out
    assert "verdict    conforms to Apache Kafka 2.7.2: 100 % of" in out
    assert list(tmp_path.iterdir()) == []


def test_the_result_is_printed_as_json_and_is_the_same_with_the_same_seed(
    printed: Callable[..., str],
) -> None:
    one, other = (
        json.loads(printed("verify", "builtin", "--json", "--seed", "7", *QUICK)) for _ in range(2)
    )
    assert (one["format"], one["conforms"]) == (1, True)
    assert [instance["states"] for instance in one["instances"]] == [61, 24, 126]
    assert all(one[name] == other[name] for name in ("sequences", "steps", "instances"))


@pytest.mark.parametrize("command", ["smoke", "verify", "replay"])
def test_the_help_of_a_command_explains_every_form_of_port_and_names_every_profile(
    command: str, printed: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = printed(command, "--help")
    for form in FORMS:
        assert f"\n  {form.replace('PACKAGE.MODULE', 'MODULE')}" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    _, profiles, names = out.partition("the Kafka version to check against:")
    assert not profiles or all(f" {name}" in names for name in PROFILES)


def test_a_missing_broker_is_one_line_that_names_it(error: Callable[..., str]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    assert address in error("verify", f"kafka://{address}", *QUICK)


@pytest.mark.parametrize("below", ["", "/below"])
def test_an_unwritable_report_is_one_line_before_the_run(
    below: str, tmp_path: Path, error: Callable[..., str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    report, started = f"{tmp_path}/file{below}", tmp_path / "started"
    line = error("verify", f"exec:touch {started}", *QUICK, "--report", report)
    assert line == f"groupcheck: cannot write the report to {report}: not a directory\n"
    assert not started.exists()


@pytest.mark.parametrize(
    ("port", "status", "verdict"),
    [
        ("builtin", 2, "verdict    conforms"),
        (f"{SMALL}:HeartbeatsOnly", 1, "verdict    diverges"),
        ("exec:cat", 2, "verdict    none: the port never opened"),
    ],
)
def test_a_report_that_fails_at_the_end_keeps_the_result_and_the_status(
    port: str, status: int, verdict: str, tmp_path: Path, run: Callable[..., Any]
) -> None:
    (tmp_path / "result.json").mkdir()
    done = run("verify", port, *QUICK, "--report", tmp_path)
    assert done.status == status
    assert verdict in done.out
    assert done.err == f"groupcheck: cannot write the report to {tmp_path}: Is a directory\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("port", "found", "verdict"),
    [
        ("exec:cat", "protocol error: ", "the port never opened"),
        (f"{SMALL}:Unopened", "(while opening the test)", "the port never opened"),
        (f"{SMALL}:Crashing", "port crashed", "the port answered no request"),
        (f"{SMALL}:Silent", "no answer", "the port answered no request"),
    ],
)
def test_a_port_that_never_opened_or_answered_has_no_verdict(
    port: str, found: str, verdict: str, run: Callable[..., Any]
) -> None:
    done = run("verify", port, *QUICK)
    assert (done.status, done.err) == (2, "")
    assert found in done.out
    assert done.out.endswith(f"verdict    none: {verdict}\n")


@pytest.mark.parametrize(
    ("port", "least", "status", "line"),
    [
        ("builtin", "100", 0, ""),
        (f"{SMALL}:GoodHeartbeats", "1", 0, ""),
        (f"{SMALL}:GoodHeartbeats", "99.5", 3, TOO_LITTLE),
        (f"{SMALL}:HeartbeatsOnly", "99.5", 1, ""),
        (f"{SMALL}:Silent", "99.5", 2, ""),
    ],
)
def test_a_port_that_covers_less_of_what_it_supports_than_asked_for_has_exit_status_3(
    port: str, least: str, status: int, line: str, run: Callable[..., Any]
) -> None:
    done = run("verify", port, *QUICK, "--fail-under", least)
    assert (done.status, done.err) == (status, line)


def test_merged_results_that_cover_too_little_have_exit_status_3(
    run: Callable[..., Any], printed: Callable[..., str], tmp_path: Path
) -> None:
    printed("verify", f"{SMALL}:GoodHeartbeats", *QUICK, "--report", tmp_path)
    done = run("report", tmp_path, tmp_path, "--fail-under", 99.5)
    assert (done.status, done.err) == (3, TOO_LITTLE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("port", "status", "verdict"),
    [
        ("builtin", 0, "conforms to Apache Kafka 2.7.2: [0-9.]+ % of the transitions covered"),
        (f"{SMALL}:HeartbeatsOnly", 1, "diverges from Apache Kafka 2.7.2: 1 finding"),
    ],
)
def test_a_run_ends_when_its_time_is_over_with_what_was_found_so_far(
    port: str, status: int, verdict: str, printed: Callable[..., str]
) -> None:
    began = time.monotonic()
    endless = ("--members", "1", "--walks", "100000", "--jobs", "1", "--time", "6s")
    out = printed("verify", port, *endless, status=status)
    assert time.monotonic() - began < 30
    assert re.search(f"verdict    {verdict}; the time of 6 s was over\n$", out)


def test_skipped_apis_and_faults_are_left_out_and_listed(
    run: Callable[..., Any], printed: Callable[..., str]
) -> None:
    skipped = ("--skip", "holdApp*,LeaveGroup", "--skip", "OffsetFetch")
    out = printed("verify", "builtin", *QUICK, *skipped)
    assert "skipped    with --skip: LeaveGroup, OffsetFetch, holdAppends\n" in out
    assert "instance   membership: 61 states, 682 transitions; 22.6 % covered (100 not su" in out
    port = f"{SMALL}:HeartbeatsOnly"
    assert run("verify", port, *QUICK, "--skip", "Heartbeat").status == 2


def _with_output(redirection: str, *arguments: str) -> tuple[str, int]:
    """The standard error and the status of a command with redirected output."""
    command = f'"$@" {redirection}'
    done = subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, "-m", "groupcheck", *arguments],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
    return without_progress(done.stderr), done.returncode


FULL = pytest.param(
    ">/dev/full",
    "No space left on device",
    marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here"),
)


@pytest.mark.slow
@pytest.mark.parametrize(("redirection", "why"), [FULL, (">&-", "it is closed")])
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["rules", "--api", "Heartbeat"], 2),
        (["explore", "--json", "--members", "1", "--instance", "metadata"], 2),
        (["verify", f"{SMALL}:HeartbeatsOnly", *QUICK], 1),
        (["--help"], 2),
    ],
)
def test_unwritable_output_is_one_line(
    arguments: list[str], status: int, redirection: str, why: str
) -> None:
    line = f"groupcheck: cannot write to standard output: {why}\n"
    assert _with_output(redirection, *arguments) == (line, status)


@pytest.mark.slow
def test_the_exit_status_has_the_verdict_without_any_output() -> None:
    assert _with_output(">/dev/null 2>&-", "rules") == ("", 0)
    diverging = f"{SMALL}:HeartbeatsOnly"
    assert _with_output(">&- 2>&-", "verify", diverging, *QUICK) == ("", 1)
    assert _with_output("2>&-", "verify", "nonsense") == ("", 2)


@pytest.mark.slow
def test_characters_that_a_terminal_cannot_encode_are_escaped() -> None:
    command = [sys.executable, "-m", "groupcheck", "verify", "exec:cat \u00e9\u2028 -", *QUICK]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert done.returncode == 2
    assert b"port       exec:cat \\xe9\\u2028 -, checked against" in done.stdout


def test_findings_and_progress_are_lines_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groupcheck.reports.progress.INTERVAL_S", 0)
    main(["verify", f"{SMALL}:HeartbeatsOnly", "--json", *QUICK])
    done = capsys.readouterr()
    lines = done.err.splitlines()
    result = json.loads(done.out)
    states = sum(instance["states"] for instance in result["instances"])
    assert f"running    exploring the model: {states}" in lines  # read from the cache, or explored
    assert "running    random sequences: 5 of 5; 1 finding so far" in lines
    found = [line for line in lines if line.startswith("found ")]
    (finding,) = result["findings"]
    heartbeat = "Heartbeat v4 before the group exists"
    answers = "UNKNOWN_MEMBER_ID (25) instead of INVALID_GROUP_ID (24)"
    assert found == [f"found      1: differs from Apache Kafka 2.7.2: {heartbeat}: {answers}"]
    assert finding["cause"]["deviation"] == "rule `heartbeat/invalid-group-id` did not exist"


def test_help_imports_none_of_the_libraries_that_commands_need() -> None:
    code = (
        "import sys; from groupcheck.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "sys.exit(bool({'networkx', 'hypothesis', 'tqdm', 'kafka'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0


def _interrupted(
    tmp_path: Path, number: signal.Signals, answered: int, *arguments: str
) -> tuple[str, str, int]:
    """Interrupt a command while the port is busy with a request; the port must be gone then."""
    port = Path(__file__).parent.parent / "support" / "slow_port.py"
    busy = tmp_path / "busy"
    exec_port = f"exec:{sys.executable} {port} {busy} {answered}"
    command = [sys.executable, "-m", "groupcheck", *arguments, exec_port]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as run:
        deadline = time.monotonic() + 60
        while not busy.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(run.pid, number)
        out, err = run.communicate(timeout=60)
    assert "Traceback" not in err
    with pytest.raises(ProcessLookupError):
        os.kill(int(busy.read_text()), 0)
    return out, err, run.returncode


SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("number", slow_if(lambda number: number != signal.SIGTERM, SIGNALS))
def test_an_interrupted_run_prints_its_findings_and_stops_its_programs(
    tmp_path: Path, number: signal.Signals
) -> None:
    out, _, status = _interrupted(tmp_path, number, 2, "verify", "--members", "1")
    assert "Finding" in out
    assert "interrupted" in out
    assert status == 1


def test_an_interrupted_replay_stops_its_programs(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text(dump(HEARTBEAT), encoding="utf-8")
    _, err, status = _interrupted(tmp_path, signal.SIGTERM, 0, "replay", str(trace))
    assert err == "groupcheck: interrupted, before anything was found\n"
    assert status == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "status"), [(["rules"], 2), (["verify", f"{SMALL}:HeartbeatsOnly", *QUICK], 1)]
)
def test_output_to_a_closed_pipe_prints_no_error(arguments: list[str], status: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "groupcheck", *arguments]
    done = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, check=False, env=ENVIRONMENT
    )
    os.close(writer)
    assert (without_progress(done.stderr.decode()), done.returncode) == ("", status)
