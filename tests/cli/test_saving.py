"""What replay, check and explore come to is saved in one form, and any face is made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple
from xml.etree.ElementTree import fromstring

import msgspec
import pytest
from jsonschema import Draft202012Validator

from groupcheck.cli import main
from groupcheck.model.exploring.exploration import Settings, run
from groupcheck.model.profiles import PROFILES
from groupcheck.properties.progress import silent
from groupcheck.properties.temporal.counterexamples import (
    PROPERTIES,
    Counterexample,
    counterexamples,
)
from groupcheck.reports.command_records import Took, check_record
from groupcheck.reports.exploration_record import explore_record
from groupcheck.reports.record import ResultRecord
from groupcheck.reports.record_file import MalformedResultError, as_text, read
from support.browser import browser
from support.needs import needs
from support.saved_results import conforming
from support.spaces import explored

replace = msgspec.structs.replace
TOOK: Final = Took("2026-01-01T00:00:00+00:00", 1.5)
SCHEMA: Final[dict[str, Any]] = json.loads(
    (files("groupcheck.reports") / "result.schema.json").read_text()
)
BEAT = (
    '{"type":"open","trace":1,"profile":"2.7","config":{}}\n'
    '{"type":"request","id":1,"api":"Heartbeat","apiVersion":3,"clientId":"a","clientHost":"/1",'
    '"body":{"groupId":"group","generationId":1,"memberId":"nobody"}}\n'
)
RIGHT, WRONG = (
    f'{BEAT}{{"type":"response","id":1,"body":{{"errorCode":{error}}}}}\n' for error in (25, 0)
)
AGREES = """
class Port:
    def open(self, profile, config): return {"name": "agrees", "version": "1"}
    def advance(self, ms): return []
    def fault(self, fault, **fields): return []
    def close(self): return []
    def request(self, request_id, *asked):
        return [{"type": "response", "id": request_id, "body": {"errorCode": 0}}]
"""


class Row(NamedTuple):
    """A row of the pipeline's."""

    group_id: str
    source: str
    session: int
    line: int
    recording: str | None
    left_out: int | None
    kind: str
    reason: str


class Read(NamedTuple):
    """What the pipeline read."""

    files: int = 1
    read: int = 90
    kept: int = 80
    other: int = 4
    quarantined: int = 6
    events: int = 80
    sessions: int = 1


DONE: Final[Mapping[str, Any]] = {
    "groups": 9,
    "accepted": 6,
    "rejected": 2,
    "undecided": 1,
    "events": 80,
    "events_checked": 70,
    "findings": (),
    "reasons": (("it was there before", 1),),
    "transitions_covered": 12,
    "transitions_explored": 30,
    "explored_and_covered": 10,
    "rebalancing": (("g1", 4, "member joins"),),
    "read": Read(),
    "lanes": (
        {
            "source": "a.log",
            "session": 0,
            "group_id": "g1",
            "last_ms": 900,
            "began_ms": 1,
            "joined_ms": 5,
            "ended_ms": 9,
            "reason": "member joins",
            "generation": 2,
            "members": 1,
            "last_client": "c",
            "outcome": "Stable",
            "often": 4,
            "number": 1,
        },
    ),
}
LINES = [
    (Row(f"g{n}", "a.log", 0, n, None, None, "no such line", f"a.log:{n}: \x1b"), None)
    for n in (1, 2)
]


def _checked(**changed: Any) -> ResultRecord:
    return check_record(
        {**DONE, **changed}, LINES[: changed.get("rejected", 2)], None, ["a.log"], TOOK
    )


def _explored(broken: list[Counterexample] | None = None, *, torn: bool = False) -> ResultRecord:
    found = run(Settings(PROFILES["2.7"], 1, ("metadata",)), silent)
    if torn:
        found = found._replace(spaces=[found.spaces[0]._replace(unreachable=3)])
    return explore_record(found, broken, TOOK)


@pytest.fixture(scope="module")
def broken() -> Counterexample:
    """A property that Kafka is known to violate, as if it were not known."""
    each = next(iter(counterexamples("membership", explored("2.7", "membership"))))
    assert each.known
    return each


@pytest.fixture
def replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> ResultRecord:
    """A trace that a port answers as Kafka never would."""
    (tmp_path / "agreeing.py").write_text(AGREES)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "trace.jsonl").write_text(BEAT)
    path = tmp_path / "replayed.json"
    trace = str(tmp_path / "trace.jsonl")
    capsys.readouterr()
    assert main(["replay", trace, "python:agreeing:Port", "--save", str(path)]) == 1
    saved = read(path)
    assert saved.findings[0].text == capsys.readouterr().out
    return saved


def _faces(saved: ResultRecord, folder: Path) -> dict[str, str]:
    """A result in every format, as the command writes it."""
    path = folder / "saved.json"
    path.write_text(as_text(saved))
    Draft202012Validator(SCHEMA).validate(json.loads(path.read_text()))
    assert read(path) == saved
    names = ("json", "junit", "html", "markdown", "badge")
    options = [part for name in names for part in (f"--{name}", str(folder / f"face.{name}"))]
    status = main(["report", str(path), *options, "--out", str(folder / "out"), "--github"])
    assert status == (0 if saved.conforms else 1)
    fromstring((folder / "face.junit").read_text(encoding="utf-8"))  # noqa: S314 - it is ours
    return {name: (folder / f"face.{name}").read_text(encoding="utf-8") for name in names}


def test_a_replay_on_a_port_has_every_format_of_a_finding(
    replayed: ResultRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (finding,) = replayed.findings
    text = finding.text
    capsys.readouterr()
    faces = _faces(replayed, tmp_path)
    printed = capsys.readouterr().out
    assert text in printed
    assert "verdict    diverges from Apache Kafka 2.7.2: 1 finding\n" in printed
    assert "\n::error title=groupcheck%3A differs from Apache Kafka 2.7.2" in printed
    assert "```mermaid" in faces["markdown"]
    assert 'alt="Sequence diagram' in faces["html"]
    assert "1 finding" in faces["badge"]
    assert f'name="{finding.id} ' in faces["junit"]
    written = sorted(each.name for each in (tmp_path / "out").iterdir())
    assert len(written) == 7
    assert f"test_finding_{finding.id}.py" in written


def test_a_conforming_replay_is_saved_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, recording = tmp_path / "trace.jsonl", tmp_path / "recording.jsonl"
    trace.write_text(BEAT)
    recording.write_text(RIGHT)
    for arguments, verdict in (
        ([str(trace), "builtin"], "1 step, each answered as Kafka would"),
        ([str(recording)], "1 step of 1 group, each answered as Kafka would"),
    ):
        assert main(["replay", *arguments, "--save", str(tmp_path / "saved.json")]) == 0
        assert capsys.readouterr().out == f"{verdict}\n"
        saved = read(tmp_path / "saved.json")
        assert (saved.command, saved.conforms, saved.verdict) == ("replay", True, verdict)
        faces = _faces(saved, tmp_path)
        assert f"verdict    {verdict}\n" in capsys.readouterr().out
        assert "1 step" in faces["badge"]


def test_a_finding_in_a_recording_has_no_port_and_no_pytest_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = tmp_path / "recording.jsonl"
    recording.write_text(WRONG)
    assert main(["replay", str(recording), "--save", str(tmp_path / "r.json")]) == 1
    story = capsys.readouterr().out
    saved = read(tmp_path / "r.json")
    (finding,) = saved.findings
    assert finding.text == story
    assert story.startswith("In group 'group':\n")
    _faces(saved, tmp_path)
    names = {each.name.partition(finding.id)[0] for each in (tmp_path / "out").iterdir()}
    assert names == {"result.json", "finding_"}


def test_a_long_history_has_no_states(tmp_path: Path) -> None:
    opened, request, right, wrong = *RIGHT.splitlines(), WRONG.splitlines()[-1]
    lines = [opened]
    for number in range(1, 302):
        answer = right if number < 301 else wrong
        lines += [each.replace('"id":1', f'"id":{number}') for each in (request, answer)]
    recording = tmp_path / "recording.jsonl"
    recording.write_text("".join(f"{line}\n" for line in lines))
    assert main(["replay", str(recording), "--save", str(tmp_path / "r.json")]) == 1
    saved = read(tmp_path / "r.json")
    (finding,) = saved.findings
    assert (len(finding.trace), finding.states, finding.itf) == (302, (), None)
    assert (tmp_path / "r.json").stat().st_size < 300_000
    assert "The model's states" not in _faces(saved, tmp_path)["html"]


def test_an_exploration_has_its_instances_properties_and_arrows_in_every_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "explored.json"
    asked = ["explore", "--members", "1", "--instance", "metadata", "--json", "--save", str(path)]
    assert main(asked) == 0
    printed = json.loads(capsys.readouterr().out)
    saved = read(path)
    section = json.loads(as_text(saved))["exploration"]
    assert section.items() <= printed.items()
    faces = _faces(saved, tmp_path)
    printed = capsys.readouterr().out
    assert "reached    all 288 transitions" in printed
    assert printed.endswith("verdict    no errors in the model of Apache Kafka 2.7.2\n")
    assert 'name="metadata/1"' in faces["junit"]
    assert faces["junit"].count('classname="groupcheck.properties"') == len(PROPERTIES)
    assert "24 states" in faces["badge"]
    assert "State graph" in faces["html"]
    assert "sync/leader-completing" in faces["html"]


def test_a_violation_of_the_model_is_a_finding_and_an_expected_one_is_none(
    broken: Counterexample, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = _explored([broken])
    assert known.conforms
    assert known.findings == ()
    saved = _explored([broken._replace(known=None)], torn=True)
    violation, error = saved.findings
    assert violation.property
    assert violation.property.name == broken.property.name
    assert len(violation.trace) == 1 + len(broken.steps)
    assert error.title == "3 transitions of metadata cannot be reached"
    faces = _faces(saved, tmp_path)
    printed = capsys.readouterr().out
    assert "verdict    2 findings in the model of Apache Kafka 2.7.2\n" in printed
    assert printed.count(f"The property {broken.property.name} ") == 1 + 2  # and in its annotation
    assert faces["junit"].count("<failure ") == 2
    assert (tmp_path / "out" / f"finding_{violation.id}.jsonl").exists()
    assert violation.id in faces["html"]
    known_report = _faces(known, tmp_path)["junit"]
    assert known_report.count("<skipped ") == 1


def test_a_check_has_its_groups_in_every_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = _checked()
    assert saved.verdict == "9 groups: 6 accepted, 2 rejected, 1 undecided"
    assert len({finding.id for finding in saved.findings}) == 2
    faces = _faces(saved, tmp_path)
    printed = capsys.readouterr().out
    assert "groups     9: 6 accepted, 2 rejected, 1 undecided\n" in printed
    assert printed.startswith(
        "group 'g1' at a.log:1: \\x1b\n\ncheck      a.log, checked against the Kafka"
    )
    assert "rejected   group 'g2' at a.log:2: \\x1b\n" in printed
    assert "9 groups, 2 rejected" in faces["badge"]
    assert 'message="it was there before"' in faces["junit"]
    assert "<strong>g1</strong>: 1 rebalances in 900 ms" in faces["html"]
    assert "it was there before" in faces["html"]
    assert len(list((tmp_path / "out").iterdir())) == 3


def test_checks_are_merged_and_compared_with_a_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, saved in (("all", _checked()), ("one", _checked(rejected=1))):
        (tmp_path / f"{name}.json").write_text(as_text(saved))
    every, one = (str(tmp_path / f"{name}.json") for name in ("all", "one"))
    assert main(["report", every, one, "--json", str(tmp_path / "both.json")]) == 1
    both = read(tmp_path / "both.json")
    assert both.verdict == "18 groups: 12 accepted, 3 rejected, 2 undecided"
    assert both.check
    assert both.check.reasons == {"it was there before": 2}
    assert both.check.transitions_covered is None
    assert both.check.read == {name: 2 * number for name, number in Read()._asdict().items()}
    assert len(both.findings) == 2
    capsys.readouterr()
    assert main(["report", one, "--baseline", every]) == 0
    assert "known      1 finding" in capsys.readouterr().out
    assert main(["report", every, "--baseline", one]) == 1
    assert "new        1 finding" in capsys.readouterr().out


def test_results_that_cannot_be_merged_are_one_line(
    replayed: ResultRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sorts = {
        "verify": conforming(),
        "replay": replayed,
        "check": _checked(),
        "explore": _explored(),
        "other": replace(_checked(), profile="4.1", kafka="Apache Kafka 4.1.2"),
    }
    for name, saved in sorts.items():
        (tmp_path / name).write_text(as_text(saved))
    capsys.readouterr()
    there = {name: str(tmp_path / name) for name in sorts}
    for arguments, why in (
        ([there["verify"], there["check"]], "is a result of check and"),
        ([there["explore"], there["explore"]], "explorations, which cannot be merged"),
        ([there["check"], there["other"]], "is of Kafka 4.1 and"),
        ([there["other"], there["check"]], "is of the Kafka that each source names and"),
        ([there["verify"], "--baseline", there["replay"]], "a result of replay, not of verify"),
    ):
        assert main(["report", *arguments]) == 2
        said = capsys.readouterr().err
        assert why in said
        assert said.count("\n") == 1


def test_replays_are_merged(replayed: ResultRecord, tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(as_text(replayed))
    both = tmp_path / "both.json"
    assert main(["report", str(path), str(path), "--json", str(both)]) == 1
    assert (read(both).steps, len(read(both).findings)) == (2 * replayed.steps, 1)


def test_a_result_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = tmp_path / "recording.jsonl"
    for text, status in ((RIGHT, 2), (WRONG, 1)):
        recording.write_text(text)
        nowhere = str(tmp_path / "no" / "where")
        assert main(["replay", str(recording), "--save", nowhere]) == status
        said = capsys.readouterr().err
        assert said == (
            f"groupcheck: cannot write the result to {nowhere}: No such file or directory\n"
        )


def test_a_result_has_the_section_of_its_command_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    for saved in (conforming(), _checked()):
        values = json.loads(as_text(saved)) | {"command": "explore"}
        path.write_text(json.dumps(values))
        with pytest.raises(MalformedResultError, match="its sections are not those of explore"):
            read(path)


@needs("chromedriver")
def test_a_browser_opens_the_pages_and_an_arrow_shows_its_rules(
    tmp_path: Path,
) -> None:
    with browser() as opened:
        for saved in (_explored(), _checked()):
            _faces(saved, tmp_path)
            (tmp_path / "face.html").rename(tmp_path / "page.html")
            opened.open(tmp_path / "page.html")
            assert opened.console() == []
            assert "groupcheck" in opened.one("h1").text
            if saved.exploration is not None:
                opened.all(".graph .arrow text")[0].click()
                arrow, *reasons = opened.one("details.chosen").text.splitlines()
                explored_arrow = saved.exploration.group_transitions[arrow]
                assert reasons == [f"{rule}: {n}" for rule, n in explored_arrow.items()]
                assert opened.console() == []


def test_follow_and_save_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["check", "folder", "--follow", "--checkpoint", "c", "--report", "r", "--save", "s"]
    assert main(asked) == 2
    assert capsys.readouterr().err == (
        "groupcheck: --save cannot be combined with --follow, which does not end\n"
    )
