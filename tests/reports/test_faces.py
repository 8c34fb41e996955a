"""What CI systems read: JUnit XML, annotations, Markdown, a badge, as their readers decode it."""

from __future__ import annotations

import re
from datetime import datetime
from xml.etree import ElementTree as ET

import msgspec
import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from groupcheck.reports.badge import as_badge
from groupcheck.reports.changes import Changes, changes
from groupcheck.reports.github import as_annotations
from groupcheck.reports.junit import as_junit
from groupcheck.reports.markdown import as_markdown
from groupcheck.reports.saved import Saved
from support.saved_results import conforming, diverging

replace = msgspec.structs.replace


def _cases(saved: Saved, changed: Changes) -> dict[str, list[type]]:
    """The cases by name, each with what is said of it, as junitparser reads them."""
    suites = JUnitXml.fromstring(as_junit(saved, changed).encode())
    (suite,) = suites
    assert suite.tests == len(list(suite))
    assert suite.failures == sum(Failure in map(type, case.result) for case in suite)
    assert suite.errors == sum(Error in map(type, case.result) for case in suite)
    assert suite.skipped == sum(Skipped in map(type, case.result) for case in suite)
    assert datetime.fromisoformat(suite.timestamp).tzinfo is not None
    assert all(case.classname.startswith("groupcheck") for case in suite)
    return {case.name: [type(result) for result in case.result] for case in suite}


def test_junit_has_a_case_for_the_run_each_space_and_each_finding() -> None:
    bad = diverging()
    cases = _cases(bad, changes(bad, None))
    spaces = ["membership/1", "metadata/1", "storing/1"]
    findings = [f"{finding.id} {finding.title}" for finding in bad.findings]
    assert list(cases) == ["run", *spaces, *findings]
    assert [cases[name] for name in findings] == [[Failure], [Failure]]
    assert not any(cases[name] for name in ("run", *spaces))


def test_in_junit_what_is_known_is_skipped_and_what_is_lost_fails_only_if_it_is_to() -> None:
    bad, good = diverging(), conforming()
    cases = _cases(bad, changes(bad, bad))
    assert [case for case in cases.values() if case] == [[Skipped], [Skipped]]
    failing = _cases(bad, changes(bad, replace(good, findings=bad.findings), lost_fails=True))
    lost = {name for name, said in failing.items() if said == [Failure]}
    assert lost == {f"{space.name}/1" for space in bad.spaces if space.edges_shown < space.edges}


def test_in_junit_a_run_that_did_not_end_or_showed_nothing_is_an_error() -> None:
    good = conforming()
    early = replace(good, ended_early="interrupted")
    nothing = replace(good, spaces=())
    for saved in (early, nothing):
        assert _cases(saved, changes(saved, None))["run"] == [Error]


def _decoded(line: str) -> tuple[str, str, str]:
    """A workflow command as the runner reads it (actions/runner, ActionCommand.cs)."""
    command = re.fullmatch(r"::(\w+) title=([^,:\r\n]*)::(.*)", line)
    assert command
    sort, title, message = command.groups()
    for name, code in ((":", "%3A"), (",", "%2C")):
        title = title.replace(code, name)
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        title, message = title.replace(code, character), message.replace(code, character)
    return sort, title, message


def test_annotations_are_one_line_each_and_say_what_the_finding_says() -> None:
    bad = diverging()
    told = [_decoded(line) for line in as_annotations(bad, changes(bad, None)).splitlines()]
    assert told == [("error", f"groupcheck: {f.title}", f.story) for f in bad.findings]
    first, second = bad.findings
    before = replace(conforming(), findings=(second,))
    now = replace(bad, findings=(first,))
    sorts = [_decoded(line)[0] for line in as_annotations(now, changes(now, before)).splitlines()]
    assert sorts == ["error", "warning", "notice"]  # new, edges that are lost, gone
    assert as_annotations(conforming(), changes(conforming(), None)) == ""


def test_an_odd_name_of_a_port_means_nothing_to_markdown() -> None:
    odd = "a|b `c` <script> *d* \n# e"
    text = as_markdown(*_with(replace(conforming(), port=odd)))
    assert "<script>" not in text
    assert "\n# e" not in text
    assert "<code>a&#124;b `c` &lt;script&gt; *d* \\n# e</code>" in text


def _with(saved: Saved) -> tuple[Saved, Changes]:
    return saved, changes(saved, None)


def test_markdown_has_every_space_and_every_finding_with_its_diagram() -> None:
    bad = diverging()
    text = as_markdown(*_with(bad))
    for space in bad.spaces:
        assert f"| <code>{space.name}/1</code> | {space.states:,} | {space.edges:,} |" in text
    assert text.count("```mermaid\nsequenceDiagram\n") == 2
    assert all(f"```text\n{finding.story}```\n" in text for finding in bad.findings)
    assert text.startswith("## ❌ groupcheck: diverges")
    assert as_markdown(*_with(conforming())).startswith("## ✅ groupcheck: conforms")
    assert as_markdown(bad, changes(bad, bad)).startswith("## ☑️ groupcheck: diverges")


def test_of_many_findings_the_last_are_told_by_their_titles() -> None:
    first, _ = diverging().findings
    many = tuple(replace(first, id=f"{number:08x}") for number in range(30))
    text = as_markdown(*_with(replace(diverging(), findings=many)))
    assert text.count("<details>") == 20
    assert all(f"`{number:08x}`" in text for number in range(20, 30))


@pytest.mark.parametrize(
    ("saved", "said"),
    [
        (conforming, "100 % of the edges"),
        (diverging, r"9\d\.\d % of the edges, 2 findings"),
        (lambda: replace(conforming(), spaces=()), "nothing shown"),
        (
            lambda: replace(conforming(), ended_early="x", conforms=False),
            "100 % of the edges, ended early",
        ),
    ],
)
def test_the_badge_says_how_many_edges_were_shown(saved: object, said: str) -> None:
    assert callable(saved)
    root = ET.fromstring(as_badge(saved()))  # noqa: S314 - it comes from here
    assert re.fullmatch(f"groupcheck: {said}", root.attrib["aria-label"])
