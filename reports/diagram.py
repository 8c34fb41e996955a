"""The sequence diagram of a finding, which Mermaid and SVG draw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from groupcheck.reports.finding_text import Passage, verdict
from groupcheck.reports.formatting import counted
from groupcheck.reports.messages import A_CLIENT, LETTER
from groupcheck.reports.record import FindingRecord, Step
from groupcheck.reports.steps import to_step

COORDINATOR: Final = "coordinator"
CLIENT: Final = "client"

# The longest label in characters, and the number of last steps that a diagram shows.
MOST_OF_A_LABEL: Final = 160
MOST_STEPS: Final = 100


class Event(NamedTuple):
    """An arrow of a sequence diagram (request, allowed, wrong or missing answer), or a note."""

    kind: Literal["request", "allowed", "wrong", "missing", "note"]
    label: str
    source: str = ""
    target: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether Kafka does not allow it."""
        return self.kind in {"wrong", "missing"}


class Diagram(NamedTuple):
    """A sequence diagram, its participants from left to right."""

    title: str
    participants: tuple[str, ...]
    events: tuple[Event, ...]
    verdict: tuple[Passage, ...]


def diagram(finding: FindingRecord) -> Diagram | None:
    """The diagram of a finding, if it has anything to draw. Long labels are cut."""
    if not (finding.steps or finding.failure):
        return None
    skipped = max(len(finding.steps) - MOST_STEPS, 0)
    events = [_note(f"... {counted(skipped, 'earlier step')}")] if skipped else []
    for number, step in enumerate(finding.steps[skipped:], skipped + 1):
        events += _events(number, step, finding.steps)
    if finding.failure and not any(event.is_wrong for event in events):
        events.append(_note(finding.title))
    ends = {end for event in events for end in (event.source, event.target)}
    clients = sorted(filter(LETTER.fullmatch, ends), key=lambda name: (name[1:], name))
    if CLIENT in ends or not clients:
        clients.append(CLIENT)
    title = f"Finding {finding.id}: {finding.title}"
    return Diagram(title, (*clients, COORDINATOR), tuple(events), tuple(verdict(finding)))


def _events(number: int, step: Step, steps: tuple[Step, ...]) -> Iterator[Event]:
    """A step, and the answers after it."""
    client = _client(step)
    if not step.sender:
        yield _note(f"{number}. {step.text}")
    else:
        of = "" if step.sender in {client, A_CLIENT} else f" (of {step.sender})"
        yield Event("request", _cut(f"{number}. {step.text}{of}"), client, COORDINATOR)
    for answer in step.answers:
        if answer.kind != "pending":
            label = _cut(f"{to_step(answer, number)}{answer.text}")
            yield Event(answer.kind, label, COORDINATOR, _client(steps[answer.step - 1]))


def _client(step: Step) -> str:
    """The participant that sends a request: a member, or a client without a known member id."""
    return step.sender if LETTER.fullmatch(step.sender) else CLIENT


def _note(label: str) -> Event:
    return Event("note", _cut(label))


def _cut(label: str) -> str:
    return label if len(label) <= MOST_OF_A_LABEL else f"{label[: MOST_OF_A_LABEL - 4]} ..."
