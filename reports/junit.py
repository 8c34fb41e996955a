"""A result as JUnit XML, as pytest writes it and Jenkins, GitLab and others read it.

There is a test case for the run, for each instance and for each finding; for each property of an
exploration that holds, and for each reason for undecided groups of a check. Known findings are
skipped; an incomplete run is an error.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from groupcheck.reports.changes import Changes
from groupcheck.reports.finding_text import finding_text
from groupcheck.reports.formatting import bounded
from groupcheck.reports.other_commands import cases
from groupcheck.reports.record import FindingRecord, ResultRecord

KNOWN = "known: in the baseline, or a known deviation"


def as_junit(saved: ResultRecord, changed: Changes) -> str:
    """The whole XML document."""
    suite = Element("testsuite", name="groupcheck")
    _properties(suite, saved)
    _run(suite, saved)
    _instances(suite, saved, changed)
    _others(suite, saved)
    for finding, known in changed.listed:
        _finding(suite, finding, known=known)
    counts = {name: len(suite.findall(f".//{name}")) for name in ("failure", "error", "skipped")}
    suite.attrib |= {
        "tests": str(len(suite.findall("testcase"))),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
        "time": f"{saved.seconds:.3f}",
        "timestamp": saved.runs[0].started if saved.runs else "",
    }
    if not suite.attrib["timestamp"]:
        del suite.attrib["timestamp"]
    root = Element("testsuites", name="groupcheck")
    root.append(suite)
    indent(root, " ")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _properties(suite: Element, saved: ResultRecord) -> None:
    properties = SubElement(suite, "properties")
    values = {
        "command": saved.command,
        "port": saved.port,
        "profile": saved.profile,
        "verdict": saved.verdict,
        "groupcheck": ", ".join(dict.fromkeys(run.groupcheck for run in saved.runs)),
    }
    for name, value in values.items():
        SubElement(properties, "property", name=f"groupcheck.{name}", value=bounded(value))


def _case(suite: Element, classname: str, name: str, seconds: float = 0.0) -> Element:
    return SubElement(
        suite, "testcase", classname=classname, name=bounded(name), time=f"{seconds:.3f}"
    )


def _run(suite: Element, saved: ResultRecord) -> None:
    case = _case(suite, "groupcheck", "run", saved.seconds)
    if saved.lines:
        SubElement(case, "system-out").text = "\n".join(saved.lines)
    if saved.ended_early or not saved.decided:
        SubElement(case, "error", message=bounded(saved.verdict), type="incomplete")


def _instances(suite: Element, saved: ResultRecord, changed: Changes) -> None:
    lost = {each.name: each for each in changed.lost}
    names = [each.label for each in saved.instances]
    for name in dict.fromkeys((*names, *lost)):
        case = _case(suite, "groupcheck.instances", name)
        if name in lost:
            message = f"{lost[name].how_many} covered by the baseline alone"
            if changed.lost_fails:
                SubElement(case, "failure", message=message, type="lost")
            else:
                SubElement(case, "system-out").text = message


def _others(suite: Element, saved: ResultRecord) -> None:
    """The cases that `replay`, `check` and `explore` add."""
    for each in cases(saved):
        case = _case(suite, f"groupcheck.{each.kind}", each.name)
        if each.skipped:
            SubElement(case, "skipped", message=bounded(each.skipped), type="groupcheck.skipped")


def _finding(suite: Element, finding: FindingRecord, *, known: bool) -> None:
    case = _case(suite, "groupcheck.findings", f"{finding.id} {finding.title}")
    if known:
        SubElement(case, "skipped", message=KNOWN, type="groupcheck.known")
        return
    kind = finding.property.name if finding.property else "finding"
    SubElement(case, "failure", message=finding.title, type=kind).text = finding_text(finding)
