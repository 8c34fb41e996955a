"""Why a finding is one, in words: when what came back would be right, and which law it breaks."""

from __future__ import annotations

import re
from typing import Any, Final

from groupcheck.model.profiles import PROFILES
from groupcheck.model.step import Rule
from groupcheck.properties.findings.counterfactual import Refusal
from groupcheck.properties.findings.explanation import explain
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.laws.law import Law
from groupcheck.reports.words import counted, duration

# So many rules are told; the others are counted.
MOST_RULES: Final = 5

# Laws cite the lines of 2.7.2, and say so where they cite another version's.
LINE: Final = re.compile(r"[A-Za-z]+\.(scala|java):\d+")


def reasons(finding: Finding) -> list[str]:
    """The lines that say so; none if there is nothing to say."""
    refusals, law = explain(finding)
    lines: list[str] = []
    if refusals:
        kafka = PROFILES[finding.sequence.profile].kafka
        lines.append(f"What came back is what {kafka} does when")
        for refusal in refusals[:MOST_RULES]:
            lines += [f"  {_cited(refusal.rule)}", f"    {_but(refusal)}"]
        if rest := len(refusals) - MOST_RULES:
            lines += [f"  or by {counted(rest, 'other rule')}"] if rest > 0 else []
    if law is not None:
        lines += [f"It breaks the law {law.name}:", f"  {law.says} [{_source(law, finding)}]"]
    return lines


def as_json(finding: Finding) -> dict[str, Any]:
    """The same as JSON-able values."""
    refusals, law = explain(finding)
    return {
        "would_be_right": [
            {
                **_fields(refusal.rule),
                "so": refusal.so,
                "but_first": None if refusal.first is None else _fields(refusal.first),
                "timer_left_ms": refusal.left_ms,
            }
            for refusal in refusals
        ],
        "law": None
        if law is None
        else {"name": law.name, "says": law.says, "source": _source(law, finding)},
    }


def _fields(rule: Rule) -> dict[str, str]:
    return {"rule": rule.name, "says": rule.says, "source": rule.source}


def _cited(rule: Rule) -> str:
    return f"{rule.says} [{rule.source}]"


def _but(refusal: Refusal) -> str:
    if refusal.left_ms is not None:
        return f"but that timer has {duration(refusal.left_ms)} left"
    if refusal.first is not None:
        return f"but first {_cited(refusal.first)}{'' if refusal.so else ', nor is it so'}"
    return "which is not so"


def _source(law: Law, finding: Finding) -> str:
    plain = LINE.fullmatch(law.source) and finding.sequence.profile != "2.7"
    return f"{law.source} at 2.7.2" if plain else law.source
