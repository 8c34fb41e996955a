"""Makes the sequence diagram of a finding, for Mermaid and SVG."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from groupcheck.model.vocabulary import Request
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.reports.formatting import bounded, counted
from groupcheck.reports.messages import (
    A_CLIENT,
    Names,
    answer_in_words,
    request_in_words,
    sender,
    step_in_words,
)
from groupcheck.reports.record import Diagram, Event
from groupcheck.reports.text import Labels, title, verdict

COORDINATOR: Final = "coordinator"
CLIENT: Final = "client"

# The longest label in characters, and the number of last steps that a diagram shows.
MOST_OF_A_LABEL: Final = 160
MOST_STEPS: Final = 100


def diagram(finding: Finding) -> Diagram:
    """The diagram of a finding. Long labels are cut; the text of the finding has them in full."""
    names, shown, numbers = Labels.of(finding)
    events: list[Event] = []
    skipped = max(len(finding.exchanges) - MOST_STEPS, 0)
    if skipped:
        events.append(_note(f"... {counted(skipped, 'earlier step')}"))
    senders = _senders(finding, names)
    for number, exchange in enumerate(finding.exchanges[skipped:], skipped + 1):
        events.append(_given(number, exchange, names, senders))
        last = number == len(finding.exchanges)
        wrong = finding.difference.request_id if last and finding.difference else None
        events += _answers(exchange, wrong, shown, senders, numbers)
        if last:
            events += _silence(finding, senders, numbers)
    if finding.during:
        events.append(_note(_cut(title(finding))))
    there = {
        end for event in events if event.kind != "note" for end in (event.source, event.target)
    }
    order = [*dict.fromkeys(names.values()), CLIENT]
    clients = [name for name in order if name in there]
    heading = f"Finding {finding.finding_id}: {title(finding)}"
    said = tuple(bounded(line) for line in verdict(finding))
    return Diagram(heading, (*(clients or [CLIENT]), COORDINATOR), tuple(events), said)


def _senders(finding: Finding, names: Names) -> dict[int, str]:
    """The participant that sent each request: a member, or a client without a known member id."""
    letters = set(names.values())
    requests = [e.given for e in finding.exchanges if isinstance(e.given, Request)]
    found = {request.request_id: sender(request, names) for request in requests}
    return {i: name if name in letters else CLIENT for i, name in found.items()}


def _given(number: int, exchange: Exchange, names: Names, senders: dict[int, str]) -> Event:
    given = exchange.given
    if not isinstance(given, Request):
        return _note(_cut(f"{number}. {step_in_words(given, names)}"))
    who = senders[given.request_id]
    said = sender(given, names)
    of = "" if said in {who, A_CLIENT} else f" (of {said})"
    label = f"{number}. {request_in_words(given, names)}{of}"
    return Event("request", _cut(label), who, COORDINATOR)


def _answers(
    exchange: Exchange,
    wrong: int | None,
    shown: Names,
    senders: dict[int, str],
    numbers: dict[int, int],
) -> list[Event]:
    own = getattr(exchange.given, "request_id", None)
    arrows = []
    for request_id, body in exchange.seen.responses:
        to = "" if request_id == own else f"(to {numbers[request_id]}) "
        label = _cut(f"{to}{answer_in_words(body, shown)}")
        kind: Literal["wrong", "answer"] = "wrong" if request_id == wrong else "answer"
        arrows.append(Event(kind, label, COORDINATOR, senders[request_id]))
    return arrows


def _silence(finding: Finding, senders: dict[int, str], numbers: dict[int, int]) -> Iterator[Event]:
    """The answer that is missing at the last step, if any."""
    last = finding.exchanges[-1]
    own = last.given.request_id if isinstance(last.given, Request) else 0
    difference = finding.difference
    if finding.failure is not None:
        if finding.during:
            return
        yield _silent(_cut(str(finding.failure)), senders.get(own, CLIENT))
    elif difference is not None and difference.kind == "no answer" and difference.request_id:
        missing = difference.request_id
        to = "" if missing == own else f"(to {numbers[missing]}) "
        yield _silent(f"{to}no answer", senders[missing])


def _silent(label: str, client: str) -> Event:
    return Event("silence", label, COORDINATOR, client)


def _note(label: str) -> Event:
    return Event("note", label)


def _cut(label: str) -> str:
    label = bounded(label)
    return label if len(label) <= MOST_OF_A_LABEL else f"{label[: MOST_OF_A_LABEL - 4]} ..."
