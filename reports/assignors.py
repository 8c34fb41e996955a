"""The result of verifying assignors: as text, as JSON, and as a table of several libraries."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from groupcheck.model.assignors.group import Group, Member
from groupcheck.model.assignors.promises import ASSIGNORS, Promise, shown
from groupcheck.properties.assignors.causes import Trial
from groupcheck.properties.assignors.port import AssignorInfo, given_group
from groupcheck.properties.assignors.verify import Finding, Verified
from groupcheck.reports.formatting import bounded_lines, counted, word

FOLDER: Final = "clients/src/main/java/org/apache/kafka/clients/consumer"
TAGS: Final = {"2.7": "2.7.2", "4.1": "4.1.2"}


class AssignorsRun(NamedTuple):
    """A run: the PORT argument, what the port named, the version checked against, the results."""

    spec: str
    info: AssignorInfo
    version: str
    seed: int
    verified: Sequence[Verified]

    @property
    def findings(self) -> list[Finding]:
        """The findings of all assignors, the worst first."""
        return sorted((f for each in self.verified for f in each.findings), key=lambda f: f.rank)

    @property
    def broken(self) -> list[Finding]:
        """The findings that break a promise, and are no advice."""
        return [finding for finding in self.findings if not finding.is_advice]


def finding_id(finding: Finding) -> str:
    """The id of a finding: the same for every run that finds the same promise broken alike."""
    parts = (finding.assignor, finding.broken.promise.id, finding.cause)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]


def source_of(promise: Promise, version: str, assignor: str) -> str:
    """The address of the line where a version of Kafka makes a promise for an assignor."""
    usual = promise.sources[version]
    path, _, line = promise.sources.get(f"{version} {assignor}", usual).partition(":")
    whole = path if "/" in path else f"{FOLDER}/{path}"
    return f"https://github.com/apache/kafka/blob/{TAGS[version]}/{whole}#L{line}"


def run_text(run: AssignorsRun) -> str:
    """The result for a terminal."""
    lines = [
        f"port       {run.spec}: {run.info.name} {run.info.version}",
        f"checked    the promises of Kafka {run.version}",
    ]
    for each in run.verified:
        stopped = f", then stopped: {each.stopped}" if each.stopped else ""
        found = counted(len(each.findings), "finding") if each.findings else "no finding"
        lines.append(
            f"assignor   {each.assignor}: {counted(each.tried, 'group')}, {found}{stopped}"
        )
    unknown = (name for name in run.info.assignors if name not in ASSIGNORS)
    lines += (f"skipped    {name}: Kafka has no such assignor" for name in unknown)
    tried = {each.assignor: each.tried for each in run.verified}
    for finding in run.findings:
        lines += ["", *finding_lines(finding, run.version, tried[finding.assignor])]
    return bounded_lines([*lines, "", f"verdict    {verdict(run)}"])


def verdict(run: AssignorsRun) -> str:
    """The verdict in one line."""
    if run.broken:
        return f"diverges from Kafka's promises: {counted(len(run.broken), 'finding')}"
    if any(each.interrupted for each in run.verified):
        return "none: interrupted"
    return "no promise of Kafka is broken in what was tried"


def finding_lines(finding: Finding, version: str, tried: int) -> Iterator[str]:
    """A finding: the promise, what breaks it, and the smallest group."""
    promise, detail, _ = finding.broken
    does = "could be better:" if finding.is_advice else "breaks"
    name = f"{finding.assignor} {does} {promise.id}"
    yield f"Finding {finding_id(finding)}: {name} ({promise.severity})"
    yield f"  {promise.words}"
    yield f"  {source_of(promise, version, finding.assignor)}"
    cause = f": {finding.cause}" if finding.cause else ""
    which = "The smallest one" if finding.minimal else "One of them"
    yield f"  In {finding.count:,} of {counted(tried, 'group')}{cause}. {which}:"
    yield from (f"    {line}" for line in trial_lines(finding.trial))
    yield f"  {detail}"
    for other in finding.others:
        yield "  Another one:"
        yield from (f"    {line}" for line in trial_lines(other))


def trial_lines(trial: Trial) -> Iterator[str]:
    """A group, and what it was assigned."""
    yield from group_lines(trial.group)
    rounds = trial.rounds
    for number, each in enumerate(rounds, 1):
        which = f"in rebalance {number}" if len(rounds) > 1 else "assigned"
        yield f"{which}: {shown(each.assignment) or 'nothing'}"


def group_lines(group: Group) -> Iterator[str]:
    """The topics and the members of a group."""
    for topic in group.topics:
        yield f"{word(topic.name)} has {counted(len(topic.racks), 'partition')}"
        for number, racks in enumerate(topic.racks):
            if racks:
                in_racks = " ".join(map(word, sorted(racks)))
                yield f"{word(topic.name)}-{number} has replicas in rack {in_racks}"
    for member in group.members:
        yield f"{word(member.id)} {', '.join(_member(member))}"


def _member(member: Member) -> Iterator[str]:
    yield f"subscribes to {' '.join(map(word, member.topics)) or 'nothing'}"
    if member.instance_id is not None:
        yield f"has group.instance.id {word(member.instance_id)}"
    if member.rack is not None:
        yield f"is in rack {word(member.rack)}"
    if member.owned:
        generation = "" if member.generation is None else f" in generation {member.generation}"
        yield f"owned {' '.join(map(str, member.owned))}{generation}"


def run_json(run: AssignorsRun) -> dict[str, Any]:
    """The result as JSON."""
    return {
        "port": run.spec,
        "name": run.info.name,
        "version": run.info.version,
        "profile": run.version,
        "seed": run.seed,
        "verdict": verdict(run),
        "assignors": [
            {"name": each.assignor, "groups": each.tried, "stopped": each.stopped or None}
            for each in run.verified
        ],
        "findings": [_finding_json(finding, run.version) for finding in run.findings],
    }


def _finding_json(finding: Finding, version: str) -> dict[str, Any]:
    promise, detail, _ = finding.broken
    return {
        "id": finding_id(finding),
        "assignor": finding.assignor,
        "promise": promise.id,
        "severity": promise.severity,
        "source": source_of(promise, version, finding.assignor),
        "groups": finding.count,
        "cause": finding.cause or None,
        "detail": detail,
        "given": given_group(finding.trial.group),
        "text": list(trial_lines(finding.trial)),
        "others": [list(trial_lines(other)) for other in finding.others],
    }
