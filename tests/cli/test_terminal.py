"""The output on a terminal has colours; with `-v` there are details."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
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


class Terminal(io.TextIOWrapper):
    """A standard output that is a terminal."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")

    def isatty(self) -> bool:
        return True


@pytest.fixture
def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs a command on a terminal, with environment variables; returns its output."""

    def run_command(*arguments: str, **environment: str) -> str:
        with monkeypatch.context() as patch:
            for name, value in (PLAIN | environment).items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdout", Terminal())
            main(arguments)
            sys.stdout.seek(0)
            return sys.stdout.read()

    return run_command


def test_a_terminal_gets_colours_and_a_pipe_the_same_text_without(
    bad: str, on_a_terminal: Callable[..., str], printed: Callable[..., str]
) -> None:
    coloured, plain = on_a_terminal("report", bad), printed("report", bad, status=1)
    assert "\x1b" not in plain
    assert COLOUR.sub("", coloured) == plain
    lines = coloured.splitlines()
    seen = lines[lines.index("Observed:") + 1]
    assert seen.startswith(f"{RED}  ")
    expected = lines[lines.index("Expected from Apache Kafka 2.7.2:") + 1]
    assert expected.startswith(f"{GREEN}  ")
    assert lines[-1].startswith(f"{BOLD_RED}verdict    diverges from ")


def test_environment_variables_disable_or_force_colours(
    bad: str,
    on_a_terminal: Callable[..., str],
    printed: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "\x1b" not in on_a_terminal("report", bad, NO_COLOR="1")
    assert "\x1b" not in on_a_terminal("report", bad, TERM="dumb")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert RED in printed("report", bad, status=1)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in printed("report", bad, status=1)


@pytest.mark.parametrize(
    ("colour", "line"),
    [
        (GREEN, "verdict    conforms to Apache Kafka 2.7.2 in all that it showed"),
        (GREEN, "verdict    no errors in the model of Apache Kafka 2.7.2"),
        (GREEN, "verdict    3 steps of 2 groups, each answered as Kafka would"),
        (GREEN, "groups     10: 10 accepted, 0 rejected, 0 undecided"),
        (GREEN, "1 operation of 1 group: every group has an order that Kafka allows"),
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


@pytest.mark.parametrize("option", ["--json", "--markdown", "--junit"])
def test_machine_readable_formats_have_no_colours(
    option: str, bad: str, on_a_terminal: Callable[..., str]
) -> None:
    assert "\x1b" not in on_a_terminal("report", bad, option, "-", FORCE_COLOR="1")


def test_report_v_prints_settings_time_instances_and_rules(
    bad: str, printed: Callable[..., str]
) -> None:
    brief, out = printed("report", bad, status=1), printed("report", bad, "-v", status=1)
    for line in brief.splitlines():  # the tours have the lower bound, too
        assert line in out
    assert out.splitlines()[-1] == brief.splitlines()[-1]
    (run,) = diverging().runs
    assert f"with       groupcheck {run.groupcheck}, Python {run.python}, started" in out
    assert "settings   profile=2.7, members=1, examples=0" in out
    assert all(f"s: {phase.name}\n" in out for phase in run.phases)
    assert run.phases[0].name == "exploring the model"
    assert "making findings minimal" in [phase.name for phase in run.phases]
    for each in diverging().instances:
        assert f"instance   {each.label}: depth {each.depth}, " in out
    rules = diverging().rules
    assert rules
    known = len(rules.applied) + len(rules.not_applied)
    assert f"rules      {len(rules.applied)} of {known} applied\n" in out


def test_the_phases_of_a_run_are_no_longer_than_it_was() -> None:
    for saved in (conforming(), diverging()):
        (run,) = saved.runs
        assert 0 < sum(phase.seconds for phase in run.phases) <= run.seconds + 0.01
        names = [phase.name for phase in run.phases]
        assert names[1] == "transitions, membership"
        assert len(names) == len(set(names))


def test_report_v_prints_a_result_with_few_fields(
    tmp_path: Path, printed: Callable[..., str]
) -> None:
    (run,) = conforming().runs
    bare = msgspec.structs.replace(run, phases=(), curve=(), started="")
    saved = msgspec.structs.replace(conforming(), runs=(bare,), rules=None, instances=())
    (tmp_path / "result.json").write_text(as_text(saved))
    out = printed("report", tmp_path, "-v", status=2)
    assert f"with       groupcheck {run.groupcheck}, Python {run.python}\nsettings " in out
    assert "took" not in out
    assert "rules" not in out


def test_verify_v_prints_the_same_as_report_v(tmp_path: Path, printed: Callable[..., str]) -> None:
    quick = ["--members", "1", "--examples", "0", "--walks", "0"]
    out = printed("verify", "builtin", *quick, "-v", "--report", tmp_path)
    names = ("result.json", "index.html", "junit.xml")
    written = "".join(f"written    {tmp_path / name}\n" for name in names)
    assert written in out
    assert printed("report", tmp_path, "-v") == out.replace(written, "")


def test_replay_v_prints_each_step_and_each_group(
    tmp_path: Path, printed: Callable[..., str]
) -> None:
    trace, recording = tmp_path / "trace.jsonl", tmp_path / "recording.jsonl"
    trace.write_text(TRACE)
    recording.write_text(RECORDING)
    assert printed("replay", trace, "builtin", "-v") == (
        "  1. unknown member 'nobody' sends Heartbeat v3 for generation 1\n"
        "       <- UNKNOWN_MEMBER_ID (25)\n"
        "1 step, each answered as Kafka would\n"
    )
    assert printed("replay", recording, "-v") == (
        "recorded   1 step of group 'group', checked against Apache Kafka 2.7.2\n"
        "1 step of 1 group, each answered as Kafka would\n"
    )


def test_explore_v_prints_rules_properties_and_digests(printed: Callable[..., str]) -> None:
    command = ["explore", "--members", "1", "--instance", "metadata"]
    settings = "profile=2.7, members=1, instances=metadata, symmetry=True, generations=1"
    brief = re.sub(r"\d\.\d s", "", printed(*command))
    out = printed(*command, "-v")
    assert re.sub(r"\d\.\d s", "", out).startswith(brief)
    assert f"settings   {settings}\n" in out
    assert "instance   metadata: longest shortest trace 8 steps, digest " in out
    assert re.search(r"^transitions by rule, metadata +\n\S+ +\d+$", out, re.MULTILINE)
    broken = re.findall(r"^violated   (\S+):", out, re.MULTILINE)
    holds = re.findall(r"^holds      (\S+):", out, re.MULTILINE)
    assert f"{len(holds)} of {len(holds) + len(broken)} hold" in brief or not broken
