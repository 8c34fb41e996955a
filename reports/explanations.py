"""Why an answer is wrong: the rules by which it would be correct, and the property it violates."""

from __future__ import annotations

import re
from typing import Final

from groupcheck.model.engine.rules import VersionRule
from groupcheck.properties.findings.counterfactual import Unapplied
from groupcheck.properties.findings.explanation import explain
from groupcheck.properties.findings.finding import Finding
from groupcheck.reports.formatting import counted, duration
from groupcheck.reports.record import CitedRule, Explanation, Property

# The number of rules that are printed; the others are counted.
MOST_RULES: Final = 5

# A source without a version is a line of Kafka 2.7.2.
LINE: Final = re.compile(r"[A-Za-z]+\.(scala|java):\d+")


def explanations(finding: Finding) -> tuple[tuple[Explanation, ...], Property | None]:
    """The rules by which the last answer would be correct, and the property that it violates."""
    unapplied, prop = explain(finding)
    if prop is None:
        return tuple(map(_explanation, unapplied)), None
    old = LINE.fullmatch(prop.source) and finding.sequence.profile != "2.7"
    source = f"{prop.source} at 2.7.2" if old else prop.source
    violated = Property(name=prop.name, description=prop.words, source=source)
    return tuple(map(_explanation, unapplied)), violated


def lines(finding: Finding) -> list[str]:
    """The same as text."""
    rules, violated = explanations(finding)
    said: list[str] = []
    if rules and finding.cause is None:
        said.append(f"This {_what(finding)} would be correct if")
        for each in rules[:MOST_RULES]:
            said += [f"  {_cited(each)}", f"    ({_why_not(each)})"]
        if (rest := len(rules) - MOST_RULES) > 0:
            said.append(f"  or by {counted(rest, 'other rule')}")
    if violated is not None:
        said.append(f"It violates the property {violated.name}:")
        said.append(f"  {violated.description} [{violated.source}]")
    return said


def _what(finding: Finding) -> str:
    """The kind of difference: an answer, the internal state, or a missing answer."""
    difference = finding.difference
    if difference is None or difference.seen is not None:
        return "answer"
    return "state" if difference.field is not None else "missing answer"


def _why_not(each: Explanation) -> str:
    """Why the rule does not apply."""
    if each.timer_left_ms is not None:
        return f"its timer has {duration(each.timer_left_ms)} left"
    if each.earlier_rule is None:
        return "not the case here"
    also = "" if each.guard_holds else "; nor is it the case here"
    return f"an earlier check applies: {_cited(each.earlier_rule)}{also}"


def _cited(rule: CitedRule) -> str:
    return f"{rule.description} [{rule.source}]"


def _explanation(each: Unapplied) -> Explanation:
    return Explanation(
        **_fields(each.rule),
        guard_holds=each.guard_holds,
        earlier_rule=None if each.earlier_rule is None else CitedRule(**_fields(each.earlier_rule)),
        timer_left_ms=each.timer_left_ms,
    )


def _fields(rule: VersionRule) -> dict[str, str]:
    return {"rule": rule.id, "description": rule.words, "source": rule.source}
