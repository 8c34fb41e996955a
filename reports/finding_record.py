"""Makes the record of a finding: its steps, the observed and the expected answer, the reasons."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from groupcheck.model.classic.edits import as_json
from groupcheck.model.classic.profiles import PARTS
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.sources import link
from groupcheck.model.classic.step import Outcome
from groupcheck.model.engine.edits import Edit, Sometimes
from groupcheck.model.engine.rules import Behaviour, VersionRule
from groupcheck.model.vocabulary import ResponseBody
from groupcheck.properties.findings.counterfactual import Unapplied
from groupcheck.properties.findings.explanation import explain
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.findings.severity import severity
from groupcheck.properties.oracle import Difference
from groupcheck.properties.sequence import dump
from groupcheck.reports import record as saved
from groupcheck.reports.finding_names import FindingNames
from groupcheck.reports.finding_title import DURING, difference_in_a_line, title
from groupcheck.reports.formatting import bounded
from groupcheck.reports.itf import finding_as_itf
from groupcheck.reports.messages import Names, answer_text
from groupcheck.reports.state_fields import NO_ANSWER, compared, group_field, inner_state, states
from groupcheck.reports.steps import steps_of

# A state takes about 7 kB, so a finding with more steps, as in the log of a group, has no states.
MOST_STEPS: Final = 300

replace = msgspec.structs.replace

# A source without a version is a line of Kafka 2.7.2.
LINE: Final = re.compile(r"[A-Za-z]+\.(scala|java):\d+")


def finding_record(finding: Finding, port: str) -> saved.FindingRecord:
    """The record of a finding."""
    explanations, violated = explained(finding)
    short = len(finding.exchanges) <= MOST_STEPS
    failure = finding.failure
    return saved.FindingRecord(
        id=finding.finding_id,
        title=title(finding),
        port=port,
        kafka=finding.sequence.model.kafka,
        severity=severity(finding, violated.name if violated else "").value,
        cause=_cause(finding),
        broker=_broker(finding),
        deviations=tuple(map(str, finding.sequence.deviations)),
        steps=_steps(finding),
        difference="" if failure else bounded(difference_in_a_line(finding)),
        failure=_failure(finding),
        output=tuple(map(bounded, failure.detail.splitlines())) if failure else (),
        observed="" if failure else bounded(_observed(finding)),
        expected=_expected(finding),
        compared=compared(finding),
        explanations=explanations,
        property=violated,
        states=states(finding) if short else (),
        trace=tuple(json.loads(line) for line in dump(finding.sequence).splitlines()),
        itf=finding_as_itf(finding) if short else None,
    )


def _steps(finding: Finding) -> tuple[saved.Step, ...]:
    if not finding.exchanges:
        return ()
    *conforming, last = steps_of(finding.exchanges, finding.names)
    return (*conforming, replace(last, answers=_last_answers(finding, last)))


def _last_answers(finding: Finding, last: saved.Step) -> tuple[saved.Answer, ...]:
    """The answers after the last step; the one that is not allowed, or is missing, is marked."""
    difference, wrong, missing = finding.difference, 0, ""
    if finding.failure is not None and not finding.during:
        wrong, missing = len(finding.exchanges), str(finding.failure)
    elif difference is not None and difference.request_id is not None:
        wrong = FindingNames.of(finding).steps[difference.request_id]
        missing = NO_ANSWER if difference.kind == NO_ANSWER else ""
    if missing:
        others = (answer for answer in last.answers if answer.step != wrong)
        return (*others, saved.Answer(kind="missing", step=wrong, text=bounded(missing)))
    return tuple(
        replace(each, kind="wrong") if each.step == wrong and each.kind == "allowed" else each
        for each in last.answers
    )


def _failure(finding: Finding) -> str:
    if finding.failure is None:
        return ""
    when = f" {DURING[finding.during]}" if finding.during else ""
    return bounded(f"The port failed{when}: {finding.failure.reason}.")


def _broker(finding: Finding) -> dict[str, int]:
    """The broker settings that differ from the defaults of the version."""
    defaults = finding.sequence.model.config._asdict()
    return {
        name: setting
        for name, setting in finding.sequence.broker.items()
        if setting != defaults[name.replace(".", "_")]
    }


def _cause(finding: Finding) -> saved.Cause | None:
    """The deviation that explains the finding, with Kafka's rules that it edits."""
    if finding.cause is None:
        return None
    version = finding.sequence.profile
    rules = tuple(
        saved.LinkedRule(**_cited(rule), link=link(version, rule.source) if rule.source else "")
        for rule in _edited_rules(finding.cause, version)
    )
    return saved.Cause(deviation=str(finding.cause), edit=as_json(finding.cause), rules=rules)


def _edited_rules(cause: Edit, version: str) -> list[VersionRule]:
    """The rules, procedures or behaviours that a deviation edits.

    A part that the version lacks has no source.
    """
    known = EVERY_PROFILE[version].rules
    edit = cause.of if isinstance(cause, Sometimes) else cause
    names = [getattr(edit, each, "") for each in ("rule", "first", "second", "behaviour")]
    found = [known[each] for each in names if each in known]
    others = (part for part in PARTS if isinstance(part, Behaviour) and part.name in names)
    found += (VersionRule(p.name, p.words, p.sources.get(version, ""), (), ()) for p in others)
    return found


def _observed(finding: Finding) -> str:
    difference = finding.difference
    if difference is not None and difference.field is not None:
        observed, _ = inner_state(finding, difference.field)
        return f"inner state: {difference.field} {observed}"
    if difference is None or difference.request_id is None:
        return "more than one answer"
    names = FindingNames.of(finding)
    return _answer(difference.request_id, difference.seen, names, names.ids)


def _expected(finding: Finding) -> tuple[saved.Expected, ...]:
    """Each answer that Kafka allows at the last step."""
    if finding.failure is not None:
        pairs = _expected_instead(finding)
    else:
        differences = finding.rejection.differences if finding.rejection else ()
        pairs = (
            (_allowed(finding, difference, outcome), _because(difference, outcome))
            for outcome, difference in zip(finding.allowed, differences, strict=True)
        )
    rules = finding.sequence.model.rules
    return tuple(
        saved.Expected(answer=bounded(answer), because=_reasons(rules, applied))
        for answer, applied in dict.fromkeys(pairs)
    )


def _expected_instead(finding: Finding) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What Kafka allows at the step at which the port failed."""
    names = FindingNames.of(finding)
    answered = [
        (_answer(response.request_id, response.body, names, names.symbols), (reason,))
        for outcome in finding.allowed
        for response, reason in zip(outcome.responses, outcome.reasons, strict=True)
    ]
    yield from answered or (("no answer yet", outcome.applied) for outcome in finding.allowed)


def _allowed(finding: Finding, difference: Difference, outcome: Outcome) -> str:
    if difference.field is not None:
        allowed = group_field(finding, outcome.coordinator.group, difference.field)
        return f"inner state: {difference.field} {allowed}"
    if difference.request_id is None:
        return "one answer"
    names = FindingNames.of(finding)
    return _answer(difference.request_id, difference.allowed, names, names.symbols)


def _answer(request_id: int, body: ResponseBody | None, names: FindingNames, members: Names) -> str:
    text = NO_ANSWER if body is None else answer_text(body, members)
    return f"to step {names.steps[request_id]}: {text}"


def _because(difference: Difference, outcome: Outcome) -> tuple[str, ...]:
    """The rule that gives the allowed answer; all applied rules if no answer is due."""
    rules = [
        reason
        for response, reason in zip(outcome.responses, outcome.reasons, strict=True)
        if response.request_id == difference.request_id
    ]
    return tuple(rules) or outcome.applied


def _reasons(rules: Mapping[str, VersionRule], applied: tuple[str, ...]) -> str:
    """The rules in words; the passing of time only if no other rule applies."""
    others = [rules[name] for name in applied if name != "time/pass"]
    if not applied:
        return "no rule applies"
    if not others:
        return f"time passes and no timer expires [{rules['time/pass'].source}]"
    return "; ".join(f"{rule.words} [{rule.source}]" for rule in others)


def explained(finding: Finding) -> tuple[tuple[saved.Explanation, ...], saved.Property | None]:
    """The rules by which the last answer would be correct, and the property that it violates."""
    unapplied, prop = explain(finding)
    rules = tuple(map(_explanation, unapplied))
    if prop is None:
        return rules, None
    old = LINE.fullmatch(prop.source) and finding.sequence.profile != "2.7"
    source = f"{prop.source} at 2.7.2" if old else prop.source
    return rules, saved.Property(name=prop.name, description=prop.words, source=source)


def _explanation(each: Unapplied) -> saved.Explanation:
    earlier = each.earlier_rule
    return saved.Explanation(
        **_cited(each.rule),
        guard_holds=each.guard_holds,
        earlier_rule=None if earlier is None else saved.CitedRule(**_cited(earlier)),
        timer_left_ms=each.timer_left_ms,
    )


def _cited(rule: VersionRule) -> dict[str, str]:
    return {"rule": rule.id, "description": rule.words, "source": rule.source}
