"""A finding as a sequence diagram: who is in it, and what goes between them.

How it is drawn, as Mermaid text or as SVG, is not here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from groupcheck.model.vocabulary import Request
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.reports.story import (
    PASSED_OVER,
    letters_of,
    numbers_of,
    shown_names,
    title,
    verdict,
)
from groupcheck.reports.words import (
    Names,
    answer_in_words,
    bounded,
    counted,
    request_in_words,
    sender,
    step_in_words,
)

COORDINATOR: Final = "coordinator"
SOMEBODY: Final = "somebody"

# A label has so many characters, and a diagram shows so many of the last steps.
MOST_OF_A_LABEL: Final = 160
MOST_STEPS: Final = 100

Kind = Literal["request", "answer", "wrong", "silence"]


class Arrow(NamedTuple):
    """Something that is sent; in the place of an answer that is missing there is a `silence`."""

    source: str
    target: str
    label: str
    kind: Kind


class Note(NamedTuple):
    """Something that happens to all: time passes, the coordinator crashes."""

    label: str


class Diagram(NamedTuple):
    """Who is in it, from the left to the right, what happens in turn, and what it comes to."""

    title: str
    participants: tuple[str, ...]
    events: tuple[Arrow | Note, ...]
    verdict: tuple[str, ...]


def diagram(finding: Finding) -> Diagram:
    """The diagram of a finding; what is long in it is cut, as the text has all of it."""
    names, shown, numbers = letters_of(finding), shown_names(finding), numbers_of(finding)
    events: list[Arrow | Note] = []
    skipped = max(len(finding.exchanges) - MOST_STEPS, 0)
    if skipped:
        events.append(Note(f"... {counted(skipped, 'step')} before"))
    senders = _senders(finding, names)
    for number, exchange in enumerate(finding.exchanges[skipped:], skipped + 1):
        events.append(_given(number, exchange, names, senders))
        last = number == len(finding.exchanges)
        wrong = finding.difference.request_id if last and finding.difference else None
        events += _answers(exchange, wrong, shown, senders, numbers)
        if last:
            events += _silence(finding, senders, numbers)
        if exchange.passed_over:
            events.append(Note(PASSED_OVER))
    if finding.during:
        events.append(Note(_cut(title(finding))))
    there = {end for event in events if isinstance(event, Arrow) for end in event[:2]}
    order = [*dict.fromkeys(names.values()), SOMEBODY]
    clients = [name for name in order if name in there]
    heading = f"Finding {finding.finding_id}: {title(finding)}"
    said = tuple(bounded(line) for line in verdict(finding))
    return Diagram(heading, (*(clients or [SOMEBODY]), COORDINATOR), tuple(events), said)


def _senders(finding: Finding, names: Names) -> dict[int, str]:
    """Who sent each request: a member, or somebody."""
    letters = set(names.values())
    requests = [e.given for e in finding.exchanges if isinstance(e.given, Request)]
    found = {request.request_id: sender(request, names) for request in requests}
    return {i: who if who in letters else SOMEBODY for i, who in found.items()}


def _given(number: int, exchange: Exchange, names: Names, senders: dict[int, str]) -> Arrow | Note:
    given = exchange.given
    if not isinstance(given, Request):
        return Note(_cut(f"{number}. {step_in_words(given, names)}"))
    who = senders[given.request_id]
    said = sender(given, names)
    of = "" if said in {who, SOMEBODY} else f" (of {said})"
    label = f"{number}. {request_in_words(given, names)}{of}"
    return Arrow(who, COORDINATOR, _cut(label), "request")


def _answers(
    exchange: Exchange,
    wrong: int | None,
    shown: Names,
    senders: dict[int, str],
    numbers: dict[int, int],
) -> list[Arrow]:
    own = getattr(exchange.given, "request_id", None)
    arrows = []
    for request_id, body in exchange.seen.responses:
        to = "" if request_id == own else f"(to {numbers[request_id]}) "
        label = _cut(f"{to}{answer_in_words(body, shown)}")
        kind: Kind = "wrong" if request_id == wrong else "answer"
        arrows.append(Arrow(COORDINATOR, senders[request_id], label, kind))
    return arrows


def _silence(finding: Finding, senders: dict[int, str], numbers: dict[int, int]) -> Iterator[Arrow]:
    """The answer that is missing at the last step, if one is."""
    last = finding.exchanges[-1]
    own = last.given.request_id if isinstance(last.given, Request) else 0
    difference = finding.difference
    if finding.failure is not None:
        if finding.during:
            return
        yield Arrow(COORDINATOR, senders.get(own, SOMEBODY), _cut(str(finding.failure)), "silence")
    elif difference is not None and difference.kind == "no answer" and difference.request_id:
        missing = difference.request_id
        to = "" if missing == own else f"(to {numbers[missing]}) "
        yield Arrow(COORDINATOR, senders[missing], f"{to}no answer", "silence")


def _cut(label: str) -> str:
    label = bounded(label)
    return label if len(label) <= MOST_OF_A_LABEL else f"{label[: MOST_OF_A_LABEL - 4]} ..."
