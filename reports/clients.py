"""The result of verifying a client: as text, as JSON, and rule by rule for several clients."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from groupcheck.model.client import ClientEvent, ClientInput
from groupcheck.model.member.sources import link
from groupcheck.model.member.specification import VERSIONS
from groupcheck.properties.clients.port import ClientInfo
from groupcheck.properties.clients.verify import Finding, Verified
from groupcheck.reports.formatting import bounded_lines, counted, percent

MOST_RULES: Final = 5


class ClientRun(NamedTuple):
    """A run: the PORT argument, what the port named, the version checked against, the results."""

    spec: str
    info: ClientInfo
    version: str
    verified: Sequence[Verified]

    @property
    def findings(self) -> list[tuple[Verified, Finding]]:
        """The findings of all instances, each difference once, where it was found first."""
        found: dict[str, tuple[Verified, Finding]] = {}
        for each in self.verified:
            for finding in each.findings:
                found.setdefault(finding_id(finding), (each, finding))
        return list(found.values())


def finding_id(finding: Finding) -> str:
    """The id of a finding: the same for every run that finds the same difference."""
    return hashlib.sha256(finding.words.encode()).hexdigest()[:8]


def verdict(run: ClientRun) -> str:
    """The verdict in one line."""
    failures = sum(len(each.failures) for each in run.verified)
    if run.findings or failures:
        found = counted(len(run.findings), "finding")
        failed = f", {counted(failures, 'failure')}" if failures else ""
        return f"differs from Kafka's client: {found}{failed}"
    if any(each.interrupted for each in run.verified):
        return "none: interrupted"
    if not any(each.same for each in run.verified):
        return "none: nothing was tried"
    return "no difference from Kafka's client in what was tried"


def run_text(run: ClientRun) -> str:
    """The result for a terminal."""
    lines = [
        f"client     {run.spec}: {run.info.name} {run.info.version}",
        f"checked    the rules of Kafka's Java client {run.version}",
    ]
    for each in run.verified:
        lines += [f"instance   {each.instance}: {part}" for part in _counts(each)]
    for each in run.verified:
        for reason, inputs in each.failures.items():
            lines += ["", f"Failure in {each.instance}: {reason}", *_sequence(inputs)]
    for each, finding in run.findings:
        lines += ["", *finding_lines(finding, each, run)]
    return bounded_lines([*lines, "", f"verdict    {verdict(run)}"])


def _counts(each: Verified) -> Iterator[str]:
    if each.unsupported:
        yield f"not tried: {each.unsupported}"
        return
    tried = percent(each.transitions - each.untried, each.transitions)
    yield (
        f"{tried} of {counted(each.transitions, 'transition')} tried: {each.same:,} as in Kafka, "
        f"{each.differing:,} differ, {each.failed:,} failed"
    )
    if each.stopped or each.interrupted:
        yield f"stopped: {each.stopped or 'interrupted'}"


def finding_lines(finding: Finding, found_in: Verified, run: ClientRun) -> Iterator[str]:
    """A finding: what differs, the rule of Kafka's client, and the shortest sequence."""
    transitions = counted(sum(count for _, count in finding.rules), "transition")
    yield f"Finding {finding_id(finding)}: {finding.words}"
    yield f"  In {transitions} of {found_in.instance}, where Kafka's applies:"
    for applied, count in finding.rules[:MOST_RULES]:
        yield f"    {applied} ({count})"
    if len(finding.rules) > MOST_RULES:
        yield f"    and {len(finding.rules) - MOST_RULES} others"
    again = "" if finding.confirmed else ", which a fresh consumer did not show again"
    yield f"  The shortest sequence{again}:"
    yield from _sequence(finding.inputs)
    yield f"  Kafka's {run.version}: {events_text(finding.difference.expected)}"
    yield f"  {run.info.name}: {events_text(finding.difference.seen)}"
    version = VERSIONS[run.version]
    for name in finding.applied:
        rule = version.rules[name]
        yield f"  {name}: {rule.words}: {link(run.version, rule.source)}"


def _sequence(inputs: Sequence[ClientInput]) -> Iterator[str]:
    yield from (f"    {number}. {given}" for number, given in enumerate(inputs, 1))


def events_text(events: Sequence[ClientEvent]) -> str:
    """What a consumer does, in one line."""
    return "; then ".join(map(str, events)) or "nothing"


def run_json(run: ClientRun) -> dict[str, Any]:
    """The result as JSON."""
    return {
        "client": run.spec,
        "name": run.info.name,
        "version": run.info.version,
        "profile": run.version,
        "verdict": verdict(run),
        "instances": [_instance_json(each) for each in run.verified],
        "findings": [
            {"id": finding_id(finding), "instance": each.instance, **_finding_json(finding)}
            for each, finding in run.findings
        ],
    }


def _instance_json(each: Verified) -> dict[str, Any]:
    return {
        "name": each.instance,
        "transitions": each.transitions,
        "same": each.same,
        "differing": each.differing,
        "failed": each.failed,
        "untried": each.untried,
        "steps": each.steps,
        "sequences": each.sequences,
        "unsupported": each.unsupported or None,
        "stopped": each.stopped or None,
        "failures": [
            {"reason": reason, "inputs": list(map(str, inputs))}
            for reason, inputs in each.failures.items()
        ],
        "findings": {finding_id(finding): dict(finding.rules) for finding in each.findings},
        "rules": {
            rule: {"same": same, "differing": differing}
            for rule, (same, differing) in sorted(each.rules.items())
        },
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "words": finding.words,
        "rules": dict(finding.rules),
        "applied": list(finding.applied),
        "inputs": list(map(str, finding.inputs)),
        "expected": list(map(str, finding.difference.expected)),
        "seen": list(map(str, finding.difference.seen)),
        "confirmed": finding.confirmed,
    }
