"""`verify --code`: the lines of a port that each transition executes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from groupcheck.model.vocabulary import API_OF
from groupcheck.properties.code.code import Code, CodeFunction
from groupcheck.reports.merging import Named, NotMergedError, merged
from groupcheck.reports.record import ResultRecord
from groupcheck.reports.record_file import read
from support.progress import without_progress

PORT = """\
from groupcheck.properties.ports.builtin import BuiltinPort
from support.faulty_python_port import FaultyPythonPort


class Port(FaultyPythonPort):
    def __init__(self):
        self._port = BuiltinPort()
        self._versions = {}

    def request(self, request_id, api, *rest):
        if api == "Heartbeat":
            return self.beat(request_id, api, *rest)
        if api == "Unheard":
            return None
        return super().request(request_id, api, *rest)

    def beat(self, *given):
        return super().request(*given)

    def advance(self, ms):
        return super().advance(ms)

    def close(self):
        return super().close()

    def forgotten(self):
        return None
"""
UNHEARD, OTHERS, BEAT, ADVANCE, CLOSE, FORGOTTEN = 14, 15, 18, 21, 24, 27


def _verify(port: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    tests = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "groupcheck", "verify", port, "--members", "1", *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{tests}"},
    )
    done.stderr = without_progress(done.stderr)
    return done


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> ResultRecord:
    folder = tmp_path_factory.mktemp("port")
    (folder / "my_port.py").write_text(PORT, encoding="utf-8")
    watched = ("--code", "my_port.py", "--report", "report")
    done = _verify("python:my_port:Port", folder, "--examples", "1", "--walks", "1", *watched)
    assert (done.returncode, "groupcheck: " in done.stderr) == (0, False), done  # maybe progress
    assert "my_port.py: Port.forgotten: never line 27" in done.stdout
    return read(folder / "report")


def _code(saved: ResultRecord) -> Code:
    assert saved.code is not None
    return saved.code


def _function(saved: ResultRecord, name: str) -> CodeFunction:
    return next(each for _, each in _code(saved).functions if each.name == f"Port.{name}")


def _given(saved: ResultRecord, line: int) -> set[str]:
    """The inputs of the transitions that execute a line."""
    code = _code(saved)
    (file,) = code.files
    return {code.transitions[edge].given for edge in code.sets[file.ran[line]]}


@pytest.mark.slow
def test_a_line_has_exactly_the_transitions_of_the_requests_that_run_it(
    saved: ResultRecord,
) -> None:
    edges = _code(saved).transitions
    assert _given(saved, BEAT) == {"Heartbeat"}
    assert _given(saved, ADVANCE) == {"Advance"}
    asked = {edge.given for edge in edges} & {*API_OF.values()}
    assert len(asked) > 10
    assert _given(saved, OTHERS) == asked - {"Heartbeat"}
    beaten = {place for place, edge in enumerate(edges) if edge.given == "Heartbeat"}
    assert beaten == {*_function(saved, "beat").transitions}


@pytest.mark.slow
def test_a_transition_has_the_rule_that_it_applies(saved: ResultRecord) -> None:
    edges = {(edge.before, edge.given, edge.rules, edge.after) for edge in _code(saved).transitions}
    assert ("none", "Heartbeat", ("heartbeat/no-group",), "none") in edges


def test_lines_outside_steps_and_lines_that_never_ran_are_separate(saved: ResultRecord) -> None:
    assert _function(saved, "close").outside == (CLOSE,)
    assert _function(saved, "forgotten").never == (FORGOTTEN,)
    request = _function(saved, "request")
    assert request.never == (UNHEARD,)
    assert request.untaken == ((13, UNHEARD),)


def test_transitions_of_different_rules_with_the_same_lines_are_grouped(
    saved: ResultRecord,
) -> None:
    edges = _code(saved).transitions
    groups = [[edges[place] for place in group] for group in _code(saved).same_lines]
    assert any({edge.given for edge in group} == {"Heartbeat"} for group in groups)
    for group in groups:
        assert len({edge.given for edge in group}) == 1
        assert len({edge.rules for edge in group}) > 1


def test_a_merged_line_has_the_transitions_of_both_runs(saved: ResultRecord) -> None:
    both = merged([Named("one", saved), Named("other", saved)])
    code = _code(both)
    assert sum(edge.steps for edge in code.transitions) == 2 * sum(
        edge.steps for edge in _code(saved).transitions
    )
    same = [msgspec.structs.replace(edge, steps=0) for edge in code.transitions]
    assert same == [msgspec.structs.replace(edge, steps=0) for edge in _code(saved).transitions]
    assert (code.sets, code.files) == (_code(saved).sets, _code(saved).files)


def test_runs_of_different_texts_of_a_file_are_not_merged(saved: ResultRecord) -> None:
    (file,) = _code(saved).files
    changed = msgspec.structs.replace(file, text=f"{file.text}\n")
    other = msgspec.structs.replace(
        saved, code=msgspec.structs.replace(_code(saved), files=(changed,))
    )
    with pytest.raises(NotMergedError, match=r"my_port\.py is not the same in all results"):
        merged([Named("one", saved), Named("other", other)])


@pytest.mark.slow
def test_code_that_no_step_runs_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("", encoding="utf-8")
    quick = ("--examples", "0", "--walks", "0", "--code", "other.txt")
    done = _verify("python:support.small_ports:GoodHeartbeats", tmp_path, *quick)
    assert done.returncode == 2
    assert done.stderr.startswith("groupcheck: no step of the port executed code in ")
    assert done.stderr.count("\n") == 1
