"""A result as Markdown, for GITHUB_STEP_SUMMARY: tables, diagrams, findings as text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

from groupcheck.reports.changes import Changes, lines
from groupcheck.reports.diagram import diagram
from groupcheck.reports.finding_text import finding_text
from groupcheck.reports.formatting import bounded, counted, percent
from groupcheck.reports.mermaid import as_mermaid
from groupcheck.reports.record import FindingRecord, ResultRecord
from groupcheck.reports.terminal import ran

# A summary has at most a megabyte: this many findings are in full.
MOST_IN_FULL: Final = 20


def as_markdown(saved: ResultRecord, changed: Changes) -> str:
    """The Markdown text."""
    return "\n".join([*_head(saved, changed), *_instances(saved), *_findings(changed), ""])


def _head(saved: ResultRecord, changed: Changes) -> Iterator[str]:
    mark = "✅" if saved.conforms else "❌"
    if saved.findings and changed.compared and not changed.fails:
        mark = "☑️"
    yield f"## {mark} groupcheck: {_text(saved.verdict)}"
    yield ""
    if saved.command == "verify":
        yield f"{_code(saved.port)}, checked against {_text(saved.kafka)}: {ran(saved)}."
    else:
        yield f"{saved.command} {_code(saved.port)}, {saved.seconds:.1f} s."
        yield ""
        yield from _fenced("text", "\n".join(saved.lines) or saved.verdict)
    yield ""
    for line in lines(changed):
        yield f"- {_text(re.sub(r'  +', ': ', line, count=1))}"
    if changed.compared:
        yield ""


def _instances(saved: ResultRecord) -> Iterator[str]:
    if saved.command != "verify":
        return
    yield "| instance | states | transitions | covered | not allowed | not covered |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for each in saved.instances:
        counts = each.transitions
        rest = counts.total - counts.covered - counts.diverged
        yield (
            f"| {_code(each.label)} | {each.states:,} | {counts.total:,}"
            f" | {percent(counts.covered, counts.total)} | {counts.diverged:,} | {rest:,} |"
        )


def _findings(changed: Changes) -> Iterator[str]:
    found = [("known: " if known else "", finding) for finding, known in changed.listed]
    if found:
        yield ""
        yield f"### {counted(len(found), 'finding').capitalize()}"
    for prefix, finding in found[:MOST_IN_FULL]:
        yield from _finding(prefix, finding)
    if rest := found[MOST_IN_FULL:]:
        yield ""
        yield from (f"- {prefix}`{f.id}` {_text(f.title)}" for prefix, f in rest)


def _finding(prefix: str, finding: FindingRecord) -> Iterator[str]:
    yield ""
    title = html.escape(bounded(f"{finding.id} {finding.title}"))
    yield f"<details><summary>{prefix}{title}</summary>"
    yield ""
    if drawn := diagram(finding):
        yield from _fenced("mermaid", as_mermaid(drawn))
        yield ""
    yield from _fenced("text", finding_text(finding))
    yield ""
    yield "</details>"


def _fenced(language: str, text: str) -> list[str]:
    """A code block, with a fence longer than any in the text."""
    longest = max((len(found) for found in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", text.rstrip("\n"), fence]


def _text(text: str) -> str:
    """Plain text, with the special characters of Markdown and HTML escaped."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&$@!])", r"\\\1", bounded(text))


def _code(text: str) -> str:
    return f"<code>{html.escape(bounded(text)).replace('|', '&#124;')}</code>"
