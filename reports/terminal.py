"""The console summary of a result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from groupcheck.properties.result import Tours, TransitionCounts
from groupcheck.properties.tolerances import Tolerances
from groupcheck.properties.unsupported import SKIPPED
from groupcheck.reports import other_commands
from groupcheck.reports.code import in_lines
from groupcheck.reports.details import details, long_run_lines
from groupcheck.reports.finding_text import finding_text
from groupcheck.reports.formatting import bounded_lines, counted, percent
from groupcheck.reports.record import FindingRecord, ResultRecord
from groupcheck.reports.record_file import PAGE

# Why a transition is not covered, by the field of its count.
NOT_COVERED: Final = {
    "not_observed": "allowed {outcomes} not observed",
    "ambiguous": "ambiguous",
    "unsupported": "not supported",
    "diverged": "answered, but not as allowed",
    "untried": "not tried",
}


def summary(
    result: ResultRecord,
    files: list[Path],
    to_print: Iterable[FindingRecord] | None = None,
    notes: Iterable[str] = (),
    *,
    more: bool = False,
) -> str:
    """The findings, the runs and their coverage, and the verdict.

    Args:
        result: the result.
        files: the files that were written.
        to_print: the findings to print; by default those that are new, or all with the details.
        notes: further lines before the verdict.
        more: whether to print the details, too.
    """
    lines = (
        _verified(result, more=more) if result.command == "verify" else other_commands.lines(result)
    )
    if more:
        lines += [*details(result), *(f"written    {path}" for path in files)]
    elif files:
        page = next((f"; open {path}" for path in files if path.name == PAGE), "")
        lines.append(f"written    {counted(len(files), 'file')} in {files[0].parent}{page}")
    lines += [*notes, f"verdict    {verdict(result)}"]
    usual = result.findings if more else result.new
    findings = tuple(usual if to_print is None else to_print)
    if result.command != "verify" and not more:
        findings = other_commands.briefly(result, findings)
    texts = "".join(f"{finding_text(finding)}\n" for finding in findings)
    return texts + bounded_lines(lines)


def _verified(result: ResultRecord, *, more: bool) -> list[str]:
    """The lines of `verify`."""
    lines = [f"port       {result.port}, checked against {result.kafka}"]
    for each in result.instances:
        counts = each.transitions
        lines.append(
            f"instance   {each.name}: {counted(each.states, 'state')},"
            f" {counted(counts.total, 'transition')}; {_covered(counts)}"
        )
    states = sum(each.states for each in result.instances)
    share = percent(result.covered, result.transitions)
    lines.append(
        f"total      {counted(states, 'state')}, {counted(result.transitions, 'transition')};"
        f" {result.covered:,} covered ({share})"
    )
    lines += _tours([each.tours for each in result.instances], more=more)
    for pairs in result.pairs:
        number, share = counted(pairs.pairs.total, "pair"), _covered(pairs.pairs)
        lines.append(f"pairs      {pairs.instance}: {number} of adjacent transitions; {share}")
        lines += _tours([pairs.tours], more=more)
    lines.append(
        f"ran        {counted(result.sequences, 'sequence')}, {counted(result.steps, 'step')}"
        f" in {result.seconds:.1f} s ({_seeds(result)})"
    )
    lines += long_run_lines(result)
    lines += [f"{head:<11}{text}" for head, text in limits(result)]
    if result.code is not None:
        lines += in_lines(result.code)
    return [*lines, *_causes(result)]


def limits(result: ResultRecord) -> Iterator[tuple[str, str]]:
    """The limits of a verification: tolerances, untested parts, unreported findings."""
    tolerances = [Tolerances(**run.tolerances) for run in result.runs if run.tolerances]
    yield from (("tolerances", _tolerances(each)) for each in dict.fromkeys(tolerances))
    skipped = [name.removesuffix(SKIPPED) for name in result.unsupported if name.endswith(SKIPPED)]
    if skipped:
        yield "skipped", f"with --skip: {', '.join(dict.fromkeys(skipped))}"
    if lacking := [name for name in result.unsupported if not name.endswith(SKIPPED)]:
        yield "skipped", f"not supported by the port: {', '.join(lacking)}"
    if result.assumed_defaults:
        assumed = ", ".join(result.assumed_defaults)
        yield "assumed", f"defaults that the broker does not report: {assumed}"
    if result.findings_truncated:
        others = counted(result.findings_truncated, "more finding")
        yield "truncated", f"{others}, neither minimized nor reported"
    if result.findings_not_reproduced:
        yield "dropped", f"{counted(result.findings_not_reproduced, 'finding')}, not reproduced"


def ran(result: ResultRecord) -> str:
    """The coverage of a verification, and its size."""
    share = percent(result.covered, result.transitions)
    sequences, steps = counted(result.sequences, "sequence"), counted(result.steps, "step")
    return (
        f"{result.covered:,} of {counted(result.transitions, 'transition')} covered ({share}),"
        f" {sequences}, {steps} in {result.seconds:.1f} s"
    )


def _causes(result: ResultRecord) -> list[str]:
    """A line for each finding, the most severe first, and one for each fixed deviation."""
    lines = [
        f"{finding.severity:10} {finding.id} {'known: ' if finding.known else ''}"
        f"{finding.title.partition(': ')[2]}"
        for finding in result.findings
        if finding.severity
    ]
    return [*lines, *(f"fixed      no longer as if {each}" for each in result.fixed)]


def _seeds(result: ResultRecord) -> str:
    seeds = dict.fromkeys(str(run.settings.get("seed", "?")) for run in result.runs)
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(seeds)}"


def _tours(each: list[Tours], *, more: bool) -> list[str]:
    """The tours of several instances, if the lower bound is known."""
    tests, steps, least = (
        sum(getattr(tours, name) for tours in each) for name in ("tests", "steps", "lower_bound")
    )
    if not least or not tests:  # tests on a real clock cover other rules' transitions, too
        return []
    bound = f", within {100 * (steps / least - 1):.0f} % of the proved minimum" if more else ""
    return [f"tours      {counted(tests, 'sequence')}, {counted(steps, 'step')}{bound}"]


def verdict(result: ResultRecord) -> str:
    """The verdict in one line."""
    return "; ".join(filter(None, (_verdict(result), result.time_over)))


def _verdict(result: ResultRecord) -> str:
    if result.command != "verify":
        return other_commands.verdict(result)
    known = len(result.findings) - len(result.new)
    besides = f"; {counted(known, 'known deviation')}" if known else ""
    found = f"{counted(len(result.new), 'finding')}{besides}"
    if result.ended_early and result.new:
        return f"{result.ended_early}; {found} so far, possibly not minimal"
    if result.ended_early:
        return f"{result.ended_early}; no finding so far"
    if not result.decided:
        opened = result.steps or not result.findings
        return f"none: the port {'answered no request' if opened else 'never opened'}"
    if result.new:
        return f"diverges from {result.kafka}: {found}"
    share = percent(result.covered, result.transitions)
    return (
        f"conforms to {result.kafka}: {share} of the transitions covered{_whole(result)}{besides}"
    )


def _whole(result: ResultRecord) -> str:
    """The reasons for the other transitions, if no test could cover more of them."""
    counts = [each.transitions for each in result.instances]
    if result.covered == result.transitions or any(
        each.unsupported or each.diverged or each.untried for each in counts
    ):
        return ""
    kinds = {
        "allowed outcomes not observed": sum(each.not_observed for each in counts),
        "ambiguous": sum(each.ambiguous for each in counts),
    }
    return f"; the others are {' or '.join(kind for kind, count in kinds.items() if count)}"


def _tolerances(tolerances: Tolerances) -> str:
    late_ms, early_ms, answer_ms, grace_ms = tolerances
    return (
        f"a timer may fire up to {late_ms:,} ms late, never early (clock difference up to"
        f" {min(early_ms, late_ms)} ms); wait {answer_ms:,} ms for an answer, {grace_ms} ms to"
        " confirm that none arrives"
    )


def _covered(counts: TransitionCounts) -> str:
    """The share that is covered, and why the rest is not."""
    outcomes = "outcome" if counts.not_observed == 1 else "outcomes"
    rest = [
        f"{number:,} {text.format(outcomes=outcomes)}"
        for name, text in NOT_COVERED.items()
        if (number := getattr(counts, name))
    ]
    share = f"{percent(counts.covered, counts.total)} covered"
    return f"{share} ({', '.join(rest)})" if rest else share
