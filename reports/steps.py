"""Steps with their answers, as records and as lines."""

from __future__ import annotations

from collections.abc import Iterable

from groupcheck.model.classic.step import Outcome
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import Request, Response
from groupcheck.properties.findings.finding import Exchange
from groupcheck.reports.finding_names import FindingNames
from groupcheck.reports.formatting import bounded
from groupcheck.reports.messages import (
    Names,
    answer_text,
    request_text,
    sender,
    step_text,
)
from groupcheck.reports.record import Answer, Step


def steps_of(exchanges: Iterable[Exchange], symbols: Names) -> tuple[Step, ...]:
    """The steps of a replay; `symbols` maps the port's member ids to symbols."""
    return _steps([(given, seen.responses) for given, seen in exchanges], symbols)


def trace_steps(trace: Iterable[tuple[Input, Outcome]]) -> tuple[Step, ...]:
    """The steps of a trace of the model."""
    return _steps([(given, outcome.responses) for given, outcome in trace], {})


def _steps(exchanges: list[tuple[Input, tuple[Response, ...]]], symbols: Names) -> tuple[Step, ...]:
    names = FindingNames.made(tuple(given for given, _ in exchanges), symbols)
    return tuple(_step(given, responses, names) for given, responses in exchanges)


def _step(given: Input, responses: tuple[Response, ...], names: FindingNames) -> Step:
    answers = [
        Answer(
            kind="allowed",
            step=names.steps[request_id],
            text=bounded(answer_text(body, names.ids)),
        )
        for request_id, body in responses
    ]
    if not isinstance(given, Request):
        return Step(text=bounded(step_text(given, names.ids)), answers=tuple(answers))
    own = names.steps[given.request_id]
    if own not in {answer.step for answer in answers}:
        answers.append(Answer(kind="pending", step=own, text="no answer yet"))
    return Step(
        text=bounded(request_text(given, names.ids)),
        sender=bounded(sender(given, names.ids)),
        answers=tuple(answers),
    )


def step_lines(steps: Iterable[Step]) -> list[str]:
    """Numbered steps, and their answers below them."""
    lines = []
    for number, step in enumerate(steps, 1):
        lines.append(f"{number:3}. {step_line(step)}")
        lines += [f"       {answer_line(answer, number)}" for answer in step.answers]
    return lines


def step_line(step: Step) -> str:
    """A step without its answers."""
    return f"{step.sender} sends {step.text}" if step.sender else step.text


def answer_line(answer: Answer, number: int) -> str:
    """An answer after the step of that number."""
    mark = "<-" if answer.kind in {"allowed", "wrong"} else ".."
    return f"{mark} {to_step(answer, number)}{answer.text}"


def to_step(answer: Answer, number: int) -> str:
    """The step that an answer belongs to, unless it is the one of that number."""
    return "" if answer.step == number else f"(to step {answer.step}) "
