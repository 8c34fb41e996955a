"""The result of verifying a real cluster, as text and as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from groupcheck.properties.cluster.real.promises import (
    EVERY,
    Violation,
    of_cluster,
)
from groupcheck.properties.cluster.real.verify import Finding, Step, Trace, Verified
from groupcheck.properties.cluster.real.views import changes
from groupcheck.reports.formatting import bounded_lines, counted


class ClusterRun(NamedTuple):
    """A run: the CLUSTER argument, its title, the seed, or None for a given sequence, the result.

    `has_oracle` is whether the nodes were compared with those that a specification allows,
    `zookeeper` whether the cluster has one.
    """

    spec: str
    title: str
    seed: int | None
    verified: Verified
    has_oracle: bool = False
    zookeeper: bool = True

    @property
    def promises(self) -> list[str]:
        """The ids of the promises that were checked."""
        return list(of_cluster(EVERY, zookeeper=self.zookeeper))


def finding_id(violation: Violation) -> str:
    """The id of a finding: the same for every run that finds the same violation."""
    return hashlib.sha256(violation.key.encode()).hexdigest()[:8]


def verdict(run: ClusterRun) -> str:
    """The verdict in one line."""
    result = run.verified
    if result.findings or result.failures or result.left_on_disk:
        parts = [counted(len(result.findings), "finding")]
        if result.failures:
            parts.append(counted(len(result.failures), "failure"))
        if result.left_on_disk:
            parts.append(f"{counted(len(result.left_on_disk), 'folder')} of deleted topics left")
        return f"a promise is violated: {', '.join(parts)}"
    if result.interrupted:
        return "none: interrupted"
    if not result.sequences:
        return "none: nothing was tried"
    return "no promise is broken in what was tried"


def run_text(run: ClusterRun) -> str:
    """The result for a terminal."""
    result = run.verified
    seed = "a given sequence" if run.seed is None else f"random sequences, seed {run.seed}"
    tried = f"{counted(result.sequences, 'sequence')} in {result.seconds:.0f} s"
    lines = [
        f"cluster    {run.spec}: {run.title}",
        f"tried      {seed}: {tried}, {result.per_minute:.1f} a minute",
        f"actions    {_steps(result)}",
        f"checked    {_checked(run)}",
    ]
    if result.interrupted:
        lines.append("stopped    interrupted")
    lines += [
        f"on disk    a deleted topic's folder is left: {each}" for each in result.left_on_disk
    ]
    for failure in result.failures:
        lines += ["", f"Failure: {failure.reason}"]
        lines += [f"    {number}. {each}" for number, each in enumerate(failure.actions, 1)]
        lines += [f"    {line}" for line in failure.detail.splitlines()]
    for finding in result.findings.values():
        lines += ["", *finding_lines(finding)]
    return bounded_lines([*lines, "", f"verdict    {verdict(run)}"])


def finding_lines(finding: Finding) -> Iterator[str]:
    """A finding: the promise, what does not hold, and the sequence, with what changed in it."""
    violation, trace = finding.violation, finding.trace
    yield f"Finding {finding_id(violation)}: {violation.words}"
    yield f"  Not so: {promise(violation)}"
    yield f"  In {counted(finding.sequences, 'sequence')}. {_which(finding)}"
    yield from (f"      {line}" for line in changes(trace.first))
    before = trace.first
    for number, step in enumerate(trace.steps, 1):
        yield f"    {number}. {_words(step)}"
        if step.view is not None:
            yield from (f"      {line}" for line in changes(step.view, before))
            before = step.view
    for each in trace.violations:
        yield f"  {each.promise}: {each.words}"


def promise(violation: Violation) -> str:
    """The promise that is violated, in words."""
    check = EVERY.get(violation.promise)
    if check is None:
        return "The nodes are those that the specification allows."
    return (check.__doc__ or "").strip()


def run_json(run: ClusterRun) -> dict[str, Any]:
    """The result as JSON."""
    result = run.verified
    return {
        "cluster": run.spec,
        "title": run.title,
        "seed": run.seed,
        "verdict": verdict(run),
        "sequences": result.sequences,
        "seconds": round(result.seconds, 1),
        "per_minute": round(result.per_minute, 1),
        "interrupted": result.interrupted,
        "actions": dict(sorted(result.steps.items())),
        "compared": result.compared,
        "promises": run.promises,
        "left_on_disk": result.left_on_disk,
        "failures": [
            {"reason": each.reason, "actions": list(map(str, each.actions)), "log": each.detail}
            for each in result.failures
        ],
        "findings": [_finding_json(each) for each in result.findings.values()],
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    violation, trace = finding.violation, finding.trace
    return {
        "id": finding_id(violation),
        "promise": violation.promise,
        "words": violation.words,
        "sequences": finding.sequences,
        "minimised": finding.minimised,
        "steps": list(_steps_json(trace)),
        "violations": [each._asdict() for each in trace.violations],
    }


def _steps_json(trace: Trace) -> Iterator[dict[str, Any]]:
    yield {"action": "", "view": changes(trace.first)}
    for step in trace.steps:
        view = None if step.view is None else changes(step.view)
        yield {"action": step.words, "error": step.error, "view": view}


def _steps(result: Verified) -> str:
    named = sorted(result.steps.items(), key=lambda each: (-each[1], each[0]))
    total = f"{sum(result.steps.values()):,}"
    return f"{total}: {', '.join(f'{name} {count:,}' for name, count in named)}" if named else total


def _checked(run: ClusterRun) -> str:
    promises = counted(len(run.promises), "promise")
    if not run.has_oracle:
        return promises
    views = counted(run.verified.compared, "view")
    return f"{promises}; the nodes of {views} are those that the specification allows"


def _which(finding: Finding) -> str:
    if finding.minimised:
        return "No action of this one can be left out:"
    return "The first of them, or a shorter one:"


def _words(step: Step) -> str:
    return f"{step.words} <- {step.error}" if step.error else step.words
