"""Every text format of a result: compared with golden files, and decoded by other readers."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Final
from xml.etree import ElementTree as ET

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from groupcheck.reports.badge import as_badge
from groupcheck.reports.changes import Changes, changes, lines
from groupcheck.reports.finding_text import finding_text
from groupcheck.reports.github import as_annotations
from groupcheck.reports.junit import as_junit
from groupcheck.reports.markdown import as_markdown
from groupcheck.reports.record import ResultRecord
from groupcheck.reports.terminal import summary
from support.golden import assert_golden
from support.sample_result import BASELINE, FINDING, SAMPLE, replace

CONFORMING: Final = replace(SAMPLE, findings=(), conforms=True, verdict="conforms to Kafka")


def _console(saved: ResultRecord, changed: Changes) -> str:
    return summary(saved, [], changed.new, lines(changed), more=True)


@pytest.mark.parametrize(
    ("name", "render"),
    [
        ("summary.txt", _console),
        ("summary.md", as_markdown),
        ("junit.xml", as_junit),
        ("annotations.txt", as_annotations),
        ("badge.svg", lambda saved, _changed: as_badge(saved)),
    ],
)
def test_a_result_beside_a_baseline_is_rendered_as_its_golden_file(
    name: str, render: Callable[[ResultRecord, Changes], str]
) -> None:
    assert_golden(name, render(SAMPLE, changes(SAMPLE, BASELINE)))


def _cases(saved: ResultRecord, changed: Changes) -> dict[str, list[type]]:
    """The cases by name, each with its results, as junitparser reads them."""
    (suite,) = JUnitXml.fromstring(as_junit(saved, changed).encode())
    assert suite.tests == len(list(suite))
    for count, kind in ((suite.failures, Failure), (suite.errors, Error), (suite.skipped, Skipped)):
        assert count == sum(kind in map(type, case.result) for case in suite)
    assert datetime.fromisoformat(suite.timestamp).tzinfo is not None
    return {case.name: [type(result) for result in case.result] for case in suite}


def test_in_junit_new_findings_fail_and_known_ones_are_skipped() -> None:
    first, second = (f"{each.id} {each.title}" for each in SAMPLE.findings)
    cases = _cases(SAMPLE, changes(SAMPLE, None))
    assert cases == {"run": [], "metadata/2": [], first: [Failure], second: [Failure]}
    assert _cases(SAMPLE, changes(SAMPLE, SAMPLE))[first] == [Skipped]


@pytest.mark.parametrize("lost_fails", [False, True])
def test_in_junit_lost_coverage_fails_only_if_it_is_to(*, lost_fails: bool) -> None:
    changed = changes(SAMPLE, BASELINE, lost_fails=lost_fails)
    assert (_cases(SAMPLE, changed)["metadata/2"] == [Failure]) is lost_fails


@pytest.mark.parametrize("changed", [{"ended_early": "interrupted"}, {"instances": ()}])
def test_in_junit_a_run_without_an_end_or_a_verdict_is_an_error(changed: dict[str, str]) -> None:
    saved = replace(CONFORMING, **changed)
    assert _cases(saved, changes(saved, None))["run"] == [Error]


def _decoded(line: str) -> tuple[str, str, str]:
    """A workflow command as the runner reads it (actions/runner, ActionCommand.cs)."""
    command = re.fullmatch(r"::(\w+) title=([^,:\r\n]*)::(.*)", line)
    assert command
    kind, title, message = command.groups()
    for name, code in ((":", "%3A"), (",", "%2C")):
        title = title.replace(code, name)
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        title, message = title.replace(code, character), message.replace(code, character)
    return kind, title, message


def test_annotations_are_decoded_to_the_texts_of_the_findings() -> None:
    decoded = [
        _decoded(line) for line in as_annotations(SAMPLE, changes(SAMPLE, None)).splitlines()
    ]
    assert decoded == [
        ("error", f"groupcheck: {f.title}", finding_text(f)) for f in SAMPLE.findings
    ]
    assert as_annotations(CONFORMING, changes(CONFORMING, None)) == ""


def test_the_name_of_a_port_is_escaped_in_markdown() -> None:
    saved = replace(CONFORMING, port="a|b `c` <script> *d* \n# e")
    text = as_markdown(saved, changes(saved, None))
    assert "<script>" not in text
    assert "\n# e" not in text
    assert "<code>a&#124;b `c` &lt;script&gt; *d* \\n# e</code>" in text


@pytest.mark.parametrize(
    ("saved", "baseline", "mark"),
    [(SAMPLE, None, "❌"), (CONFORMING, None, "✅"), (SAMPLE, SAMPLE, "☑️")],
)
def test_markdown_begins_with_the_verdict(
    saved: ResultRecord, baseline: ResultRecord | None, mark: str
) -> None:
    text = as_markdown(saved, changes(saved, baseline))
    assert text.startswith(f"## {mark} groupcheck: {saved.verdict}")


def test_markdown_has_twenty_findings_in_full_and_the_titles_of_the_others() -> None:
    many = tuple(replace(FINDING, id=f"{number:08x}") for number in range(30))
    saved = replace(SAMPLE, findings=many)
    text = as_markdown(saved, changes(saved, None))
    assert text.count("<details>") == 20
    assert all(f"`{number:08x}`" in text for number in range(20, 30))


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        (CONFORMING, "60.0 % of transitions"),
        (replace(SAMPLE, findings=(FINDING,)), "60.0 % of transitions, 1 finding"),
        (replace(CONFORMING, instances=()), "no coverage"),
        (
            replace(CONFORMING, ended_early="x", conforms=False),
            "60.0 % of transitions, ended early",
        ),
    ],
)
def test_the_badge_has_the_coverage(saved: ResultRecord, message: str) -> None:
    root = ET.fromstring(as_badge(saved))  # noqa: S314 - it comes from here
    assert root.attrib["aria-label"] == f"groupcheck: {message}"
