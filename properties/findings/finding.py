"""Findings: what a port does that Kafka of that version does not allow."""

from __future__ import annotations

import hashlib
from operator import attrgetter
from typing import Final, NamedTuple

from groupcheck.model.classic.config import Config
from groupcheck.model.classic.state import Coordinator
from groupcheck.model.classic.step import Outcome
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.edits import Edit, always
from groupcheck.model.vocabulary import ErrorCode, Request, Response, ResponseBody
from groupcheck.properties.compare import differing, normal
from groupcheck.properties.oracle import Difference, Rejection
from groupcheck.properties.ports.port import Observation, PortFailedError
from groupcheck.properties.sequence import Sequence

FIELDS: Final = 3  # the place in a key from which the names of the fields of an answer come
ERROR_CODE: Final = "error_code"


class Exchange(NamedTuple):
    """One step of a test with the observation after it, member ids as symbols."""

    given: Input
    seen: Observation


class Finding(NamedTuple):
    """A sequence at whose last step the port gives an answer that Kafka does not allow, or fails.

    `exchanges` are its steps with the observations; `names` maps the port's member ids to symbols.
    If the port failed at the last step, `failure` says how, and `rejection` has what Kafka allows;
    otherwise `rejection` also has the difference. `before` is the model's state before the last
    step, if the observations leave only one. `during` is "open" or "close" if the port failed
    there, and not at a step. `cause` is the deviation of the port that explains it, if one does.
    """

    sequence: Sequence
    exchanges: tuple[Exchange, ...]
    names: dict[str, str]
    rejection: Rejection | None = None
    failure: PortFailedError | None = None
    before: Coordinator | None = None
    during: str = ""
    cause: Edit | None = None

    @property
    def finding_id(self) -> str:
        """Depends on the version and the cause alone; if that is unknown, on what differs.

        How often a deviation holds is not part of its cause. Where the error differs, the other
        fields of the answer follow from it.
        """
        cause = self.key
        if self.cause is not None:
            cause = self._replace(cause=always(self.cause)).key
        elif (code := _other_error(self.difference)) is not None:
            cause = (*cause[:FIELDS], ERROR_CODE, code.name)
        text = self.sequence.profile + repr(cause)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def hung(self) -> bool:
        """Whether the port hung; a replay would wait for the timeout again."""
        return self.failure is not None and self.failure.kind == "port hung"

    @property
    def is_the_end(self) -> bool:
        """Whether no further test is possible: the port hangs, or cannot be opened."""
        return self.hung or not self.sequence.steps

    @property
    def allowed(self) -> tuple[Outcome, ...]:
        """The outcomes that Kafka allows at the last step."""
        return self.rejection.outcomes if self.rejection else ()

    @property
    def config(self) -> Config:
        """The broker's settings, as the model has them."""
        return self.rejection.config if self.rejection else Config.of(self.sequence.broker)

    @property
    def difference(self) -> Difference | None:
        """The difference from the nearest allowed outcome, if the port answered."""
        if self.rejection is None or not self.rejection.differences:
            return None
        return min(self.rejection.differences, key=attrgetter("distance"))

    @property
    def outcome(self) -> Outcome | None:
        """The nearest allowed outcome."""
        if self.rejection is None or self.difference is None:
            return None
        return self.rejection.outcomes[self.rejection.differences.index(self.difference)]

    @property
    def reason(self) -> str:
        """The id of the rule that the last answer contradicts; empty if the step applies none."""
        difference, outcome = self.difference, self.outcome
        if difference is None or outcome is None:
            return ""
        for response, reason in zip(outcome.responses, outcome.reasons, strict=True):
            if response.request_id == difference.request_id:
                return reason
        return outcome.applied[-1] if outcome.applied else ""

    @property
    def key(self) -> tuple[str, ...]:
        """Identifies the cause: a deviation, else the kind of difference and the rule."""
        if self.cause is not None:
            return ("deviation", str(self.cause))
        if self.failure is not None:
            return ("port", self.failure.kind, self.during or _what(self.sequence.steps[-1]))
        difference = self.difference
        if difference is None:
            return ("unexplained",)
        if difference.field is not None:
            return (difference.kind, difference.field, self.reason)
        answered = type(difference.allowed or difference.seen).__name__
        return (
            difference.kind,
            answered,
            self.reason,
            *_fields(difference.allowed, difference.seen),
        )

    def answered(self, exchange: Exchange) -> tuple[Response, ...]:
        """The answers of the port in an exchange, with the member ids of the model."""
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
    """Keep a finding under its key, unless a known one has as few steps."""
    known = findings.get(finding.key)
    if known is None or length_of(finding) < length_of(known):
        findings[finding.key] = finding


def length_of(finding: Finding) -> int:
    """The number of steps of a finding."""
    return len(finding.sequence.steps)


def _fields(allowed: ResponseBody | None, seen: ResponseBody | None) -> list[str]:
    if allowed is None or seen is None:
        return []
    code = getattr(seen, ERROR_CODE, None)
    return [*differing(allowed, seen), "" if code is None else code.name]


def _other_error(difference: Difference | None) -> ErrorCode | None:
    """The error of the answer, if another one is allowed."""
    allowed = getattr(difference and difference.allowed, ERROR_CODE, None)
    seen = getattr(difference and difference.seen, ERROR_CODE, None)
    return None if allowed in {None, seen} else seen


def _what(step: Input) -> str:
    return step.api if isinstance(step, Request) else type(step).__name__
