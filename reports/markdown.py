"""A result as Markdown, such as GITHUB_STEP_SUMMARY takes it: tables, diagrams, stories."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

from groupcheck.reports.changes import Changes, lines
from groupcheck.reports.files import diagram_of
from groupcheck.reports.mermaid import as_mermaid
from groupcheck.reports.saved import Found, Saved
from groupcheck.reports.terminal import percent
from groupcheck.reports.words import bounded, counted

# A summary has a megabyte at the most: so many findings are told in full.
MOST_TOLD: Final = 20


def as_markdown(saved: Saved, changed: Changes) -> str:
    """All of it, to be added to a summary."""
    return "\n".join([*_head(saved, changed), *_spaces(saved), *_findings(changed), ""])


def _head(saved: Saved, changed: Changes) -> Iterator[str]:
    mark = "✅" if saved.conforms else "❌"
    if saved.findings and changed.compared and not changed.fails:
        mark = "☑️"
    yield f"## {mark} groupcheck: {_text(saved.verdict)}"
    yield ""
    if saved.command == "verify":
        yield from _shown(saved)
    else:
        yield f"{saved.command} {_code(saved.port)}, {saved.seconds:.1f} s."
        yield ""
        yield from _fenced("text", "\n".join(saved.lines) or saved.verdict)
    yield ""
    for line in lines(changed):
        yield f"- {_text(re.sub(r'  +', ': ', line, count=1))}"
    if changed.compared:
        yield ""


def _shown(saved: Saved) -> Iterator[str]:
    ran = f"{counted(saved.sequences, 'sequence')}, {counted(saved.steps, 'step')}"
    yield (
        f"{_code(saved.port)}, judged as {_text(saved.kafka)}:"
        f" {saved.shown:,} of {counted(saved.edges, 'labelled edge')} shown"
        f" ({percent(saved.shown, saved.edges)}), {ran} in {saved.seconds:.1f} s."
    )


def _spaces(saved: Saved) -> Iterator[str]:
    if saved.command != "verify":
        return
    yield "| space | states | labelled edges | shown | answered unlawfully | not shown |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for space in saved.spaces:
        rest = space.edges - space.edges_shown - space.edges_diverged
        yield (
            f"| {_code(f'{space.name}/{space.members}')} | {space.states:,} | {space.edges:,}"
            f" | {percent(space.edges_shown, space.edges)} | {space.edges_diverged:,} | {rest:,} |"
        )


def _findings(changed: Changes) -> Iterator[str]:
    sorts = (("", changed.new), ("known: ", changed.known))
    found = [(sort, finding) for sort, each in sorts for finding in each]
    if found:
        yield ""
        yield f"### {counted(len(found), 'finding').capitalize()}"
    for sort, finding in found[:MOST_TOLD]:
        yield from _finding(sort, finding)
    if rest := found[MOST_TOLD:]:
        yield ""
        yield from (f"- {sort}`{f.id}` {_text(f.title)}" for sort, f in rest)


def _finding(sort: str, finding: Found) -> Iterator[str]:
    yield ""
    title = html.escape(f"{finding.id} {finding.title}")
    yield f"<details><summary>{sort}{title}</summary>"
    yield ""
    if finding.diagram is not None:
        yield from _fenced("mermaid", as_mermaid(diagram_of(finding.diagram)))
        yield ""
    yield from _fenced("text", finding.story)
    yield ""
    yield "</details>"


def _fenced(sort: str, text: str) -> list[str]:
    """A block of code, fenced by more backticks than it has itself."""
    longest = max((len(found) for found in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{sort}", text.rstrip("\n"), fence]


def _text(text: str) -> str:
    """Plain text: nothing in it means anything to Markdown, or to HTML."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&$@!])", r"\\\1", bounded(text))


def _code(text: str) -> str:
    return f"<code>{html.escape(bounded(text)).replace('|', '&#124;')}</code>"
