"""Results of `replay`, `check` and `explore` are saved, and converted to every format."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple, cast
from xml.etree.ElementTree import fromstring

import msgspec
import pytest
from jsonschema import Draft202012Validator

from groupcheck.model.classic.exploring.exploration import Settings
from groupcheck.model.classic.exploring.exploration import run as explore
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.pipeline.history_replay import FindingRow
from groupcheck.properties.progress import silent
from groupcheck.properties.temporal.counterexamples import (
    PROPERTIES,
    Counterexample,
    counterexamples,
)
from groupcheck.reports.command_records import Took, check_record
from groupcheck.reports.exploration_record import explore_record
from groupcheck.reports.finding_text import finding_text
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


class Read(NamedTuple):
    """The input of the pipeline, counted."""

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
    "engine": "spark",
    "events_checked": 70,
    "findings": (),
    "reasons": (("it existed before", 1),),
    "transitions_covered": 12,
    "transitions_explored": 30,
    "explored_and_covered": 10,
    "rebalancing": (("g1", 4, "member joins"),),
    "read": Read(),
    "timeline": (
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
    (FindingRow(f"g{n}", "a.log", 0, n, None, None, "no such line", f"a.log:{n}: \x1b"), None)
    for n in (1, 2)
]


def _checked(**changed: Any) -> ResultRecord:
    return check_record(
        {**DONE, **changed}, LINES[: changed.get("rejected", 2)], None, ["a.log"], TOOK
    )


def _explored(broken: list[Counterexample] | None = None, *, torn: bool = False) -> ResultRecord:
    found = explore(Settings(PROFILES["2.7"], 1, ("metadata",)), silent)
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
def replay(printed: Callable[..., str], tmp_path: Path) -> Callable[..., tuple[ResultRecord, str]]:
    """Replays a trace, or checks a recording: the saved result, and the output."""
    file, path = tmp_path / "file.jsonl", tmp_path / "replayed.json"

    def replay_text(text: str, *port: str, status: int = 0) -> tuple[ResultRecord, str]:
        file.write_text(text)
        out = printed("replay", file, *port, "--save", path, status=status)
        return read(path), out

    return replay_text


@pytest.fixture
def replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replay: Callable[..., Any]
) -> ResultRecord:
    """A trace that a port answers as Kafka never would."""
    (tmp_path / "agreeing.py").write_text(AGREES)
    monkeypatch.syspath_prepend(str(tmp_path))
    saved, out = replay(BEAT, "python:agreeing:Port", status=1)
    assert finding_text(saved.findings[0]) == out
    return cast("ResultRecord", saved)


class Formats(NamedTuple):
    """A result in every format: the summary that `report` prints, and its files."""

    printed: str
    json: str
    junit: str
    html: str
    markdown: str
    badge: str


@pytest.fixture
def formats(printed: Callable[..., str], tmp_path: Path) -> Callable[[ResultRecord], Formats]:
    """Converts a result to every format; the report is in `out`."""

    def convert(saved: ResultRecord) -> Formats:
        path = tmp_path / "saved.json"
        path.write_text(as_text(saved))
        Draft202012Validator(SCHEMA).validate(json.loads(path.read_text()))
        assert read(path) == saved
        files = {name: tmp_path / f"page.{name}" for name in Formats._fields[1:]}
        options = [part for name, file in files.items() for part in (f"--{name}", file)]
        status = 0 if saved.conforms else 1
        out = printed(
            "report", path, *options, "--out", tmp_path / "out", "--github", status=status
        )
        texts = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
        fromstring(texts["junit"])  # noqa: S314 - it is ours
        return Formats(out, **texts)

    return convert


def test_a_replay_on_a_port_has_every_format_of_a_finding(
    replayed: ResultRecord, tmp_path: Path, formats: Callable[..., Formats]
) -> None:
    (finding,) = replayed.findings
    converted = formats(replayed)
    assert finding_text(finding) in converted.printed
    assert "verdict    diverges from Apache Kafka 2.7.2: 1 finding\n" in converted.printed
    assert "\n::error title=groupcheck%3A differs from Apache Kafka 2.7.2" in converted.printed
    assert "```mermaid" in converted.markdown
    assert 'alt="Sequence diagram' in converted.html
    assert "1 finding" in converted.badge
    assert f'name="{finding.id} ' in converted.junit
    written = sorted(each.name for each in (tmp_path / "out").iterdir())
    assert len(written) == 9
    assert {"index.html", "junit.xml", f"test_finding_{finding.id}.py"} <= {*written}


@pytest.mark.parametrize(
    ("text", "port", "verdict"),
    [
        (BEAT, ["builtin"], "1 step, each answered as Kafka would"),
        (RIGHT, [], "1 step of 1 group, each answered as Kafka would"),
    ],
)
def test_a_conforming_replay_is_saved_too(
    text: str,
    port: list[str],
    verdict: str,
    replay: Callable[..., Any],
    formats: Callable[..., Formats],
) -> None:
    saved, out = replay(text, *port)
    assert out == f"{verdict}\n"
    assert (saved.command, saved.conforms, saved.verdict) == ("replay", True, verdict)
    converted = formats(saved)
    assert f"verdict    {verdict}\n" in converted.printed
    assert "1 step" in converted.badge


def test_a_finding_in_a_recording_has_no_port_and_no_pytest_file(
    tmp_path: Path, replay: Callable[..., Any], formats: Callable[..., Formats]
) -> None:
    saved, out = replay(WRONG, status=1)
    (finding,) = saved.findings
    assert finding_text(finding) == out
    assert f"Finding {finding.id}: group 'group': differs from" in out
    formats(saved)
    names = {each.name.partition(finding.id)[0] for each in (tmp_path / "out").iterdir()}
    assert names == {"result.json", "index.html", "junit.xml", "finding_"}


def test_a_long_history_has_no_states(
    tmp_path: Path, replay: Callable[..., Any], formats: Callable[..., Formats]
) -> None:
    opened, request, right, wrong = *RIGHT.splitlines(), WRONG.splitlines()[-1]
    lines = [opened]
    for number in range(1, 302):
        answer = right if number < 301 else wrong
        lines += [each.replace('"id":1', f'"id":{number}') for each in (request, answer)]
    saved, _ = replay("".join(f"{line}\n" for line in lines), status=1)
    (finding,) = saved.findings
    assert (len(finding.trace), finding.states, finding.itf) == (302, (), None)
    assert (tmp_path / "replayed.json").stat().st_size < 300_000
    assert "The model's states" not in formats(saved).html


def test_an_exploration_has_its_instances_properties_and_arrows_in_every_format(
    tmp_path: Path, printed: Callable[..., str], formats: Callable[..., Formats]
) -> None:
    path = tmp_path / "explored.json"
    options = ["--members", "1", "--instance", "metadata", "--json", "--save", path]
    values = json.loads(printed("explore", *options))
    saved = read(path)
    assert json.loads(as_text(saved)) == values
    converted = formats(saved)
    assert "reached    all 288 transitions" in converted.printed
    assert "verdict    no errors in the model of Apache Kafka 2.7.2\n" in converted.printed
    assert 'name="metadata/1"' in converted.junit
    held = converted.junit.count('classname="groupcheck.properties"')
    assert held + len(saved.findings) == len(PROPERTIES)
    assert "24 states" in converted.badge
    assert "State graph" in converted.html
    assert "sync/leader-completing" in converted.html


@pytest.mark.slow
def test_a_violation_of_the_model_is_a_finding_and_an_expected_one_is_known(
    broken: Counterexample, tmp_path: Path, formats: Callable[..., Formats]
) -> None:
    known = _explored([broken])
    assert known.conforms
    assert [finding.known for finding in known.findings] == [True]
    saved = _explored([broken._replace(known=None)], torn=True)
    violation, error = saved.findings
    assert violation.property
    assert violation.property.name == broken.property.name
    assert len(violation.trace) == 1 + len(broken.steps)
    assert error.title == "3 transitions of metadata cannot be reached"
    converted = formats(saved)
    assert "verdict    2 findings in the model of Apache Kafka 2.7.2\n" in converted.printed
    # In the text, and twice in its annotation.
    assert converted.printed.count(f"The property {broken.property.name} ") == 1 + 2
    assert converted.junit.count("<failure ") == 2
    assert (tmp_path / "out" / f"finding_{violation.id}.jsonl").exists()
    assert violation.id in converted.html
    assert formats(known).junit.count("<skipped ") == 1


def test_a_check_has_its_groups_in_every_format(
    tmp_path: Path, formats: Callable[..., Formats]
) -> None:
    saved = _checked()
    assert saved.verdict == "9 groups: 6 accepted, 2 rejected, 1 undecided"
    assert len({finding.id for finding in saved.findings}) == 2
    converted = formats(saved)
    assert "groups     9: 6 accepted, 2 rejected, 1 undecided\n" in converted.printed
    assert converted.printed.startswith(
        f"Finding {saved.findings[0].id}: group 'g1' at a.log:1: \\x1b\n\n"
        "check      a.log, checked against the Kafka"
    )
    assert "rejected   group 'g2' at a.log:2: \\x1b\n" in converted.printed
    assert "9 groups, 2 rejected" in converted.badge
    assert 'message="it existed before"' in converted.junit
    assert "<strong>g1</strong>: 1 rebalances in 900 ms" in converted.html
    assert "it existed before" in converted.html
    assert len(list((tmp_path / "out").iterdir())) == 5


def test_checks_are_merged_and_compared_with_a_baseline(
    tmp_path: Path, printed: Callable[..., str]
) -> None:
    for name, saved in (("all", _checked()), ("one", _checked(rejected=1))):
        (tmp_path / f"{name}.json").write_text(as_text(saved))
    every, one = (tmp_path / f"{name}.json" for name in ("all", "one"))
    printed("report", every, one, "--json", tmp_path / "both.json", status=1)
    both = read(tmp_path / "both.json")
    assert both.verdict == "18 groups: 12 accepted, 3 rejected, 2 undecided"
    assert both.check
    assert both.check.reasons == {"it existed before": 2}
    assert both.check.transitions_covered is None
    assert both.check.read == {name: 2 * number for name, number in Read()._asdict().items()}
    assert len(both.findings) == 2
    assert "known      1 finding" in printed("report", one, "--baseline", every)
    assert "new        1 finding" in printed("report", every, "--baseline", one, status=1)


def test_results_that_cannot_be_merged_are_one_line(
    replayed: ResultRecord, tmp_path: Path, error: Callable[..., str]
) -> None:
    results = {
        "verify": conforming(),
        "replay": replayed,
        "check": _checked(),
        "explore": _explored(),
        "other": replace(_checked(), profile="4.1", kafka="Apache Kafka 4.1.2"),
    }
    for name, saved in results.items():
        (tmp_path / name).write_text(as_text(saved))
    for arguments, why in (
        ("verify check", "is a result of check and"),
        ("explore explore", "explorations, which cannot be merged"),
        ("check other", "is of Kafka 4.1 and"),
        ("other check", "is of the Kafka that each source names and"),
        ("verify --baseline replay", "a result of replay, not of verify"),
    ):
        named = (tmp_path / each if each in results else each for each in arguments.split())
        assert why in error("report", *named)


def test_replays_are_merged(
    replayed: ResultRecord, tmp_path: Path, printed: Callable[..., str]
) -> None:
    path, both = tmp_path / "replayed.json", tmp_path / "both.json"
    printed("report", path, path, "--json", both, status=1)
    assert (read(both).steps, len(read(both).findings)) == (2 * replayed.steps, 1)


@pytest.mark.parametrize(("text", "status"), [(RIGHT, 2), (WRONG, 1)])
def test_a_result_that_cannot_be_written_is_one_line(
    text: str, status: int, tmp_path: Path, run: Callable[..., Any]
) -> None:
    recording, nowhere = tmp_path / "recording.jsonl", tmp_path / "no" / "where"
    recording.write_text(text)
    done = run("replay", recording, "--save", nowhere)
    message = f"cannot write the result to {nowhere}: No such file or directory"
    assert (done.status, done.err) == (status, f"groupcheck: {message}\n")


def test_a_result_has_the_section_of_its_command_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    for saved in (conforming(), _checked()):
        values = json.loads(as_text(saved)) | {"command": "explore"}
        path.write_text(json.dumps(values))
        with pytest.raises(MalformedResultError, match="its sections are not those of explore"):
            read(path)


@needs("chromedriver")
def test_a_browser_opens_the_pages_and_an_arrow_shows_its_rules(
    tmp_path: Path, formats: Callable[..., Formats]
) -> None:
    with browser() as opened:
        for saved in (_explored(), _checked()):
            formats(saved)
            opened.open(tmp_path / "page.html")
            assert opened.console() == []
            assert "groupcheck" in opened.one("h1").text
            if saved.exploration is not None:
                opened.all(".graph .arrow text")[0].click()
                arrow, *reasons = opened.one("details.chosen").text.splitlines()
                explored_arrow = saved.exploration.group_transitions[arrow]
                assert reasons == [f"{rule}: {n}" for rule, n in explored_arrow.items()]
                assert opened.console() == []
