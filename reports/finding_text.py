"""A finding as text: numbered steps, the observed and the expected answer, and the reasons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from groupcheck.properties.findings.finding import Finding
from groupcheck.reports.finding_record import finding_record
from groupcheck.reports.formatting import bounded_lines, counted, duration
from groupcheck.reports.record import CitedRule, Explanation, FindingRecord
from groupcheck.reports.steps import step_lines

# The number of rules that are printed; the others are counted.
MOST_RULES: Final = 5


class Passage(NamedTuple):
    """A heading, and the lines below it."""

    heading: str
    lines: tuple[str, ...] = ()
    is_expected: bool = False

    @property
    def text(self) -> list[str]:
        """The heading, and the lines indented."""
        return [self.heading, *(f"  {line}" for line in self.lines)]


def text_of(finding: Finding) -> str:
    """A finding that is not saved, as text."""
    return finding_text(finding_record(finding, ""))


def finding_text(finding: FindingRecord) -> str:
    """The finding in full. Long lines are cut."""
    lines = [f"Finding {finding.id}: {finding.title}", *_cause(finding), *_circumstances(finding)]
    if finding.steps:
        lines += ["", *step_lines(finding.steps)]
    passages = [*verdict(finding), *_explanations(finding), *_property(finding)]
    if passages:
        lines.append("")
    lines += [line for passage in passages for line in passage.text]
    return bounded_lines([*lines, *finding.notes])


def _cause(finding: FindingRecord) -> list[str]:
    """The rules that a deviation edits, and the difference by which the last step shows it."""
    if finding.cause is None:
        return []
    rules = [
        f"Kafka: `{rule.rule}`: {cited(rule)}"
        if rule.source
        else f"`{rule.rule}` is not Kafka's: {rule.description}"
        for rule in finding.cause.rules
    ]
    return [*rules, f"Difference: {finding.difference}"]


def _circumstances(finding: FindingRecord) -> list[str]:
    """The broker settings, and the other deviations of the port that the steps show."""
    lines = []
    if finding.broker:
        settings = (f"{name} = {setting}" for name, setting in finding.broker.items())
        lines += ["", f"Broker settings: {', '.join(settings)}"]
    if finding.deviations:
        others = Passage("In these steps the port also behaves as if", finding.deviations)
        lines += ["", *others.text]
    return lines


def verdict(finding: FindingRecord) -> list[Passage]:
    """The failure of the port, or its observed answer; and what Kafka allows."""
    passages = []
    if finding.failure:
        passages.append(Passage(finding.failure))
    if finding.output:
        passages.append(Passage("Its last output:", tuple(f"| {line}" for line in finding.output)))
    if finding.observed:
        passages.append(Passage("Observed:", (finding.observed,)))
    if finding.expected:
        alternatives = [
            line
            for each in finding.expected
            for line in ("or", each.answer, f"  because {each.because}")
        ]
        heading = f"Expected from {finding.kafka}:"
        passages.append(Passage(heading, tuple(alternatives[1:]), is_expected=True))
    return passages


def _explanations(finding: FindingRecord) -> Iterator[Passage]:
    """The rules by which the answer would be correct."""
    rules = finding.explanations
    if not rules or finding.cause is not None:
        return
    lines = []
    for each in rules[:MOST_RULES]:
        lines += [cited(each), f"  ({_why_not(each)})"]
    if (rest := len(rules) - MOST_RULES) > 0:
        lines.append(f"or by {counted(rest, 'other rule')}")
    yield Passage("This would be correct if", tuple(lines))


def _why_not(each: Explanation) -> str:
    """Why the rule does not apply."""
    if each.timer_left_ms is not None:
        return f"its timer has {duration(each.timer_left_ms)} left"
    fails = "its condition does not hold"
    if each.earlier_rule is None:
        return fails
    earlier = f"an earlier check applies: {cited(each.earlier_rule)}"
    return earlier if each.guard_holds else f"{fails}, and {earlier}"


def _property(finding: FindingRecord) -> Iterator[Passage]:
    if violated := finding.property:
        line = f"{violated.description} [{violated.source}]"
        yield Passage(f"It violates the property {violated.name}:", (line,))


def cited(rule: CitedRule) -> str:
    """A rule in words, with its source."""
    return f"{rule.description} [{rule.source}]"
