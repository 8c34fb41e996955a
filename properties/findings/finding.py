"""Findings: what a port did that Kafka of that version never would."""

from __future__ import annotations

import hashlib
from operator import attrgetter
from typing import NamedTuple

from groupcheck.model.config import Config
from groupcheck.model.state import Coordinator
from groupcheck.model.step import Outcome
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request, Response, ResponseBody
from groupcheck.properties.compare import differing, normal
from groupcheck.properties.oracle import Difference, Rejection
from groupcheck.properties.ports.port import Observation, PortFailedError
from groupcheck.properties.sequence import Sequence, dump


class Exchange(NamedTuple):
    """One step of a test and what the port showed after it, member ids as symbols.

    If it is `passed_over`, it was not lawful, and the test went on as if it had been.
    """

    given: Input
    seen: Observation
    passed_over: bool = False


class Finding(NamedTuple):
    """A sequence whose last step the port answers as Kafka never would, or on which it fails.

    `exchanges` are its steps with what was seen after each; `names` turns the port's member ids
    into symbols. If the port itself failed at the last step, `failure` says how and `rejection`
    has what Kafka does there; otherwise `rejection` says what is wrong with the answer. `before`
    is the model's state before the last step, if the observations left only one. `during` is "open"
    or "close" if the port failed there, and not at a step.
    """

    sequence: Sequence
    exchanges: tuple[Exchange, ...]
    names: dict[str, str]
    rejection: Rejection | None = None
    failure: PortFailedError | None = None
    before: Coordinator | None = None
    during: str = ""

    @property
    def finding_id(self) -> str:
        """Stable: the same minimal sequence and sort of difference have the same id."""
        text = dump(self.sequence.renumbered()) + repr(self.key)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def hung(self) -> bool:
        """Whether the port hung: to try that again is to wait for it again."""
        return self.failure is not None and self.failure.kind == "port hung"

    @property
    def is_the_end(self) -> bool:
        """Whether there is no use in going on: the port hangs, or no test can begin."""
        return self.hung or not self.sequence.steps

    @property
    def lawful(self) -> tuple[Outcome, ...]:
        """What Kafka may do at the last step."""
        return self.rejection.outcomes if self.rejection else ()

    @property
    def config(self) -> Config:
        """The broker's settings, as the model has them."""
        return self.rejection.config if self.rejection else Config.of(self.sequence.broker)

    @property
    def difference(self) -> Difference | None:
        """The difference from the lawful outcome that comes nearest, if the port answered."""
        if self.rejection is None or not self.rejection.differences:
            return None
        return min(self.rejection.differences, key=attrgetter("distance"))

    @property
    def outcome(self) -> Outcome | None:
        """The lawful outcome that comes nearest."""
        if self.rejection is None or self.difference is None:
            return None
        return self.rejection.outcomes[self.rejection.differences.index(self.difference)]

    @property
    def reason(self) -> str:
        """The name of the rule that the last step is answered against."""
        difference, outcome = self.difference, self.outcome
        if difference is None or outcome is None:
            return ""
        for response, reason in zip(outcome.responses, outcome.reasons, strict=True):
            if response.request_id == difference.request_id:
                return reason
        return outcome.fired[-1]

    @property
    def key(self) -> tuple[str, ...]:
        """What makes two findings the same: the sort of difference, and the rule it is against."""
        if self.failure is not None:
            return ("port", self.failure.kind, self.during or _what(self.sequence.steps[-1]))
        difference = self.difference
        if difference is None:
            return ("unexplained",)
        if difference.field is not None:
            return (difference.kind, difference.field, self.reason)
        answered = type(difference.lawful or difference.seen).__name__
        return (
            difference.kind,
            answered,
            self.reason,
            *_fields(difference.lawful, difference.seen),
        )

    def answered(self, exchange: Exchange) -> tuple[Response, ...]:
        """What the port answered in one of its exchanges, members as the model calls them."""
        versions = {
            step.request_id: step.api_version
            for step in self.sequence.steps
            if isinstance(step, Request)
        }
        return tuple(
            r._replace(body=normal(r.body, self.names, versions[r.request_id]))
            for r in exchange.seen.responses
        )


def keep(findings: dict[tuple[str, ...], Finding], finding: Finding) -> None:
    """Keep a finding under its key, unless it is known from as few steps."""
    known = findings.get(finding.key)
    if known is None or len(finding.sequence.steps) < len(known.sequence.steps):
        findings[finding.key] = finding


def _fields(lawful: ResponseBody | None, seen: ResponseBody | None) -> list[str]:
    if lawful is None or seen is None:
        return []
    code = getattr(seen, "error_code", None)
    return [*differing(lawful, seen), "" if code is None else code.name]


def _what(step: Input) -> str:
    return step.api if isinstance(step, Request) else type(step).__name__
