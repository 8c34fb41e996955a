"""A finding as a row: what was seen, what is lawful and why, and which rules refused it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from groupcheck.model.bodies import encode_record
from groupcheck.model.profiles import PROFILES
from groupcheck.model.step import Rule
from groupcheck.model.vocabulary import Request
from groupcheck.properties.findings.explanation import explain
from groupcheck.properties.findings.finding import Finding

Row = dict[str, Any]


def finding_row(finding: Finding, lines: Mapping[int, int], events: list[int]) -> Row:
    """The row of a finding, but for whose it is.

    Args:
        finding: what the oracle found in an exchange.
        lines: where the answers of the exchange stand, by the ids of their requests.
        events: where its events stand.

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
        "rule": finding.reason or "unexplained",
        "request_id": number,
        "api": asked.api if asked else None,
        "seen": _json(difference.seen) if difference and difference.seen else None,
        "lawful": sorted(_lawful(finding, number)),
        "because": _told(rules[name] for name in names if name in rules),
        "refused": _told(refusal.rule for refusal in explain(finding).refusals),
    }


def _lawful(finding: Finding, number: int | None) -> set[str]:
    """Each answer to the request that is lawful."""
    return {
        _json(response.body)
        for outcome in finding.lawful
        for response in outcome.responses
        if response.request_id == number
    }


def _reasons(finding: Finding, number: int | None) -> Iterable[str]:
    """By which rules they are; if the request is not to be answered, what is done instead."""
    for outcome in finding.lawful:
        answered = zip(outcome.responses, outcome.reasons, strict=True)
        reasons = [why for response, why in answered if response.request_id == number]
        yield from reasons or outcome.fired


def _told(rules: Iterable[Rule]) -> list[dict[str, str]]:
    return [{"rule": r.name, "says": r.says, "source": r.source} for r in rules]


def _json(body: Any) -> str:  # noqa: ANN401 - any answer
    return json.dumps(encode_record(body), separators=(",", ":"))
