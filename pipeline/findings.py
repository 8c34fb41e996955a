"""A finding as a row: the observed answer, the allowed answers, and the rules of both."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from groupcheck.model.bodies import encode_record
from groupcheck.model.profiles import PROFILES
from groupcheck.model.vocabulary import Request
from groupcheck.pipeline.history_replay import Row, rule_rows
from groupcheck.properties.findings.explanation import explain
from groupcheck.properties.findings.finding import Finding


def finding_row(finding: Finding, lines: Mapping[int, int], events: list[int]) -> Row:
    """The row of a finding, without its history.

    Args:
        finding: what the oracle found in an exchange.
        lines: the lines of the responses in the exchange, by request id.
        events: the lines of its events.

    """
    rules = PROFILES[finding.sequence.profile].rules
    difference = finding.difference
    number = difference.request_id if difference else None
    requests = {
        step.request_id: step for step in finding.sequence.steps if isinstance(step, Request)
    }
    asked = requests.get(number) if number is not None else None
    names = dict.fromkeys(_reasons(finding, number))
    return {
        "line": lines.get(number or -1) or (events[0] if events else 0),
        "kind": difference.kind if difference else "unexplained",
        "reason": finding.reason or "unexplained",
        "request_id": number,
        "api": asked.api if asked else None,
        "seen": _json(difference.seen) if difference and difference.seen else None,
        "allowed": sorted(_allowed(finding, number)),
        "because": rule_rows(rules[name] for name in names if name in rules),
        "refused": rule_rows(refusal.rule for refusal in explain(finding).rules),
    }


def _allowed(finding: Finding, number: int | None) -> set[str]:
    """Each response to the request that the model allows."""
    return {
        _json(response.body)
        for outcome in finding.allowed
        for response in outcome.responses
        if response.request_id == number
    }


def _reasons(finding: Finding, number: int | None) -> Iterable[str]:
    """The rules of these responses; if no response is allowed, the rules that apply instead."""
    for outcome in finding.allowed:
        answered = zip(outcome.responses, outcome.reasons, strict=True)
        reasons = [why for response, why in answered if response.request_id == number]
        yield from reasons or outcome.fired


def _json(body: Any) -> str:  # noqa: ANN401 - any answer
    return json.dumps(encode_record(body), separators=(",", ":"))
