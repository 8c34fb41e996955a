"""On a terminal there are colours and nowhere else, and with -v there is more."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from groupcheck.cli import main
from groupcheck.reports.colours import painted
from groupcheck.reports.record_file import as_text
from support.saved_results import conforming, diverging

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
RED, GREEN, YELLOW, BOLD_RED = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1;31m"
HEARTBEAT = (
    '{"type":"request","id":1,"api":"Heartbeat","apiVersion":3,"clientId":"a","clientHost":"/1",'
    '"body":{"groupId":"group","generationId":1,"memberId":"nobody"}}\n'
)
TRACE = '{"type":"open","trace":1,"profile":"2.7","config":{}}\n' + HEARTBEAT
RECORDING = TRACE + '{"type":"response","id":1,"body":{"errorCode":25}}\n'
PLAIN = dict.fromkeys(("NO_COLOR", "FORCE_COLOR"), "") | {"TERM": "xterm"}


@pytest.fixture
def bad(tmp_path: Path) -> str:
    path = tmp_path / "bad.json"
    path.write_text(as_text(diverging()))
    return str(path)


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "groupcheck", *arguments]


def _piped(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        _command(*arguments),
        env={**os.environ, **PLAIN, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout


def _on_a_terminal(*arguments: str, **environment: str) -> str:
    """What a terminal is sent, as long as somebody reads it."""
    ours, theirs = pty.openpty()
    env = {**os.environ, **PLAIN, **environment}
    sent = b""
    with subprocess.Popen(
        _command(*arguments), env=env, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    ):
        os.close(theirs)
        try:
            while part := os.read(ours, 65_536):
                sent += part
        except OSError:  # on Linux this is the end of the output
            pass
    os.close(ours)
    return sent.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_and_a_pipe_the_same_text_without(bad: str) -> None:
    coloured, plain = _on_a_terminal("report", bad), _piped("report", bad)
    assert "\x1b" not in plain
    assert COLOUR.sub("", coloured) == plain
    lines = coloured.splitlines()
    seen = lines[lines.index("Observed:") + 1]
    assert seen.startswith(f"{RED}  ")
    expected = lines[lines.index("Expected from Apache Kafka 2.7.2:") + 1]
    assert expected.startswith(f"{GREEN}  ")
    assert lines[-1].startswith(f"{BOLD_RED}verdict    diverges from ")


def test_environment_variables_disable_or_force_colours(bad: str) -> None:
    assert "\x1b" not in _on_a_terminal("report", bad, NO_COLOR="1")
    assert "\x1b" not in _on_a_terminal("report", bad, TERM="dumb")
    assert RED in _piped("report", bad, FORCE_COLOR="1")
    assert "\x1b" not in _piped("report", bad, FORCE_COLOR="1", NO_COLOR="1")


@pytest.mark.parametrize(
    ("colour", "line"),
    [
        (GREEN, "verdict    conforms to Apache Kafka 2.7.2 in all that it showed"),
        (GREEN, "verdict    no errors in the model of Apache Kafka 2.7.2"),
        (GREEN, "verdict    3 steps of 2 groups, each answered as Kafka would"),
        (GREEN, "groups     10: 10 accepted, 0 rejected, 0 undecided"),
        (
            GREEN,
            "1 operation of 1 group: every group has an order that Kafka allows",
        ),
        (RED, "verdict    interrupted; 1 finding so far, possibly not minimal"),
        (RED, "verdict    2 findings in the model of Apache Kafka 2.7.2"),
        (RED, "verdict    1,021 groups: 1,000 accepted, 20 rejected, 1 undecided"),
        (YELLOW, "verdict    interrupted; no finding so far"),
        (YELLOW, "verdict    none: the port answered no request"),
        (YELLOW, "groups     3: 0 accepted, 0 rejected, 3 undecided"),
    ],
)
def test_a_verdict_is_green_red_or_neither(colour: str, line: str) -> None:
    bold = colour.replace("[", "[1;")
    assert painted(f"{line}\n") == f"{bold}{line}\x1b[0m\n"


def test_machine_readable_formats_have_no_colours(bad: str) -> None:
    for face in ("--json", "--markdown", "--junit"):
        assert "\x1b" not in _on_a_terminal("report", bad, face, "-", FORCE_COLOR="1")


def test_report_v_prints_settings_time_instances_and_rules(
    bad: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", bad]) == 1
    brief = capsys.readouterr().out
    assert main(["report", bad, "-v"]) == 1
    printed = capsys.readouterr().out
    for line in brief.splitlines():  # the tours have the lower bound, too
        assert line in printed
    assert printed.splitlines()[-1] == brief.splitlines()[-1]
    (run,) = diverging().runs
    assert f"with       groupcheck {run.groupcheck}, Python {run.python}, started" in printed
    assert "settings   profile=2.7, members=1, examples=0" in printed
    assert all(f"s: {phase.name}\n" in printed for phase in run.phases)
    assert run.phases[0].name == "exploring the model"
    assert run.phases[-1].name == "making findings minimal"
    for each in diverging().instances:
        assert f"instance   {each.label}: depth {each.depth}, " in printed
    rules = diverging().rules
    assert rules
    known = len(rules.applied) + len(rules.not_applied)
    assert f"rules      {len(rules.applied)} of {known} applied\n" in printed


def test_the_phases_of_a_run_are_no_longer_than_it_was() -> None:
    for saved in (conforming(), diverging()):
        (run,) = saved.runs
        assert 0 < sum(phase.seconds for phase in run.phases) <= run.seconds + 0.01
        names = [phase.name for phase in run.phases]
        assert names[1] == "transitions, membership"
        assert len(names) == len(set(names))


def test_report_v_prints_a_result_with_few_fields(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run,) = conforming().runs
    bare = msgspec.structs.replace(run, phases=(), curve=(), started="")
    saved = msgspec.structs.replace(conforming(), runs=(bare,), rules=None, instances=())
    (tmp_path / "result.json").write_text(as_text(saved))
    assert main(["report", str(tmp_path), "-v"]) == 2
    printed = capsys.readouterr().out
    assert f"with       groupcheck {run.groupcheck}, Python {run.python}\nsettings " in printed
    assert "took" not in printed
    assert "rules" not in printed


def test_verify_v_prints_the_same_as_report_v(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = ["--members", "1", "--examples", "0", "--walks", "0"]
    assert main(["verify", "builtin", *quick, "-v", "--report", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    written = f"written    {tmp_path / 'result.json'}\n"
    assert written in printed
    assert main(["report", str(tmp_path), "-v"]) == 0
    assert capsys.readouterr().out == printed.replace(written, "")


def test_replay_v_prints_each_step_and_each_group(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, recording = tmp_path / "trace.jsonl", tmp_path / "recording.jsonl"
    trace.write_text(TRACE)
    recording.write_text(RECORDING)
    assert main(["replay", str(trace), "builtin", "-v"]) == 0
    assert capsys.readouterr().out == (
        "  1. unknown member 'nobody' sends Heartbeat v3 for generation 1\n"
        "       <- UNKNOWN_MEMBER_ID (25)\n"
        "1 step, each answered as Kafka would\n"
    )
    assert main(["replay", str(recording), "-v"]) == 0
    assert capsys.readouterr().out == (
        "recorded   1 step of group 'group', checked against Apache Kafka 2.7.2\n"
        "1 step of 1 group, each answered as Kafka would\n"
    )


def test_explore_v_prints_rules_properties_and_digests(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["explore", "--members", "1", "--instance", "metadata"]
    assert main(command) == 0
    brief = re.sub(r"\d\.\d s", "", capsys.readouterr().out)
    assert main([*command, "-v"]) == 0
    printed = capsys.readouterr().out
    assert re.sub(r"\d\.\d s", "", printed).startswith(brief)
    assert "instance   metadata: longest shortest trace 8 steps, digest " in printed
    assert re.search(r"^transitions by rule, metadata +\n\S+ +\d+$", printed, re.MULTILINE)
    broken = re.findall(r"^violated   (\S+):", printed, re.MULTILINE)
    holds = re.findall(r"^holds      (\S+):", printed, re.MULTILINE)
    assert f"{len(holds)} of {len(holds) + len(broken)} hold" in brief or not broken
