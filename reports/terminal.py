"""The summary of a result, on a screen."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from groupcheck.properties.result import Shares
from groupcheck.properties.windows import Windows
from groupcheck.reports import long_runs, sorts
from groupcheck.reports.code import in_lines
from groupcheck.reports.details import details
from groupcheck.reports.saved import Found, Saved, Tours
from groupcheck.reports.words import bounded, counted


def summary(
    result: Saved,
    files: list[Path],
    told: Iterable[Found] | None = None,
    notes: Iterable[str] = (),
    *,
    more: bool = False,
) -> str:
    """What was done, what was shown, and the verdict; findings first, the verdict last.

    The findings that are `told` are all, unless it is said; `notes` are lines of others. With
    `more` there are the details, too.
    """
    lines = _verified(result) if result.command == "verify" else sorts.lines(result)
    if more:
        lines += [*details(result), *(f"written    {path}" for path in files)]
    elif files:
        lines.append(f"written    {counted(len(files), 'file')} in {files[0].parent}")
    lines += [*notes, f"verdict    {verdict(result)}"]
    findings = tuple(result.findings if told is None else told)
    if result.command != "verify" and not more:
        findings = sorts.briefly(result, findings)
    stories = "".join(f"{finding.story}\n" for finding in findings)
    return stories + "".join(f"{bounded(line)}\n" for line in lines)


def _verified(result: Saved) -> list[str]:
    """What was done with a port, and what it has shown."""
    lines = [f"port       {result.port}, judged as {result.kafka}"]
    for space in result.spaces:
        shares = space.shares
        lines.append(
            f"space      {space.name}: {_explored(space.states, space.edges)};"
            f" {percent(shares.shown, shares.edges)} of the edges shown{_rest(shares)}"
        )
    states = sum(space.states for space in result.spaces)
    lines.append(
        f"in all     {_explored(states, result.edges)};"
        f" {counted(result.shown, 'edge')} shown ({percent(result.shown, result.edges)})"
    )
    lines += _tours([space.tours for space in result.spaces])
    for pairs in result.pairs:
        shown = percent(pairs.shown, pairs.pairs)
        lines.append(
            f"pairs      {pairs.space}: {counted(pairs.pairs, 'pair')} of adjacent edges;"
            f" {shown} of the pairs shown{_rest(pairs.shares)}"
        )
        lines += _tours([pairs.tours])
    lines.append(
        f"ran        {counted(result.sequences, 'sequence')}, {counted(result.steps, 'step')}"
        f" in {result.seconds:.1f} s ({_seeds(result)})"
    )
    lines += long_runs.lines(result)
    windows = (_windows(Windows(**run.windows)) for run in result.runs if run.windows)
    lines += [f"windows    {said}" for said in dict.fromkeys(windows)]
    if result.unsupported:
        lines.append(f"left out   not supported by the port: {', '.join(result.unsupported)}")
    if result.presumed:
        lines.append(f"presumed   as the broker does not tell: {', '.join(result.presumed)}")
    if result.more_findings:
        others = counted(result.more_findings, "other finding")
        lines.append(f"more       {others}, not made minimal and not told")
    if result.not_reproduced:
        lines.append(f"not told   findings that were not reproduced: {result.not_reproduced}")
    if result.code is not None:
        lines += in_lines(result.code)
    return lines


def _seeds(result: Saved) -> str:
    seeds = dict.fromkeys(str(run.settings.get("seed", "?")) for run in result.runs)
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(seeds)}"


def _tours(each: list[Tours]) -> list[str]:
    """The tours of several spaces, if it is known of all of them how few steps there could be."""
    tests, steps, least = (sum(getattr(t, n) for t in each) for n in ("tests", "steps", "least"))
    if not least:
        return []
    least_said = f"{least:,} (ratio {steps / least:.2f})"
    tests_said, steps_said = counted(tests, "sequence"), counted(steps, "step")
    return [f"tours      {tests_said}, {steps_said}; none show as much in fewer than {least_said}"]


def verdict(result: Saved) -> str:
    """The verdict in one line."""
    if result.command != "verify":
        return sorts.verdict(result)
    found = counted(len(result.findings), "finding")
    if result.ended_early and result.findings:
        return f"{result.ended_early}, with {found} until then, perhaps not minimal"
    if result.ended_early:
        return f"{result.ended_early}, with nothing found until then"
    if result.findings:
        return f"diverges from {result.kafka}: {found}"
    if not result.answered:
        return "none: the port answered no request, so nothing can be said of it"
    share = percent(result.shown, result.edges)
    shown = f"in all that it showed, {share} of the labelled edges"
    return f"conforms to {result.kafka} {shown}{_whole(result)}"


def _whole(result: Saved) -> str:
    """What the other edges are, if the port has shown all that can be had of it."""
    shares = [space.shares for space in result.spaces]
    if result.shown == result.edges or any(s.left_out or s.diverged or s.untried for s in shares):
        return ""
    kinds = {
        "lawful branches it did not take": sum(s.not_chosen for s in shares),
        "like another in all that was seen": sum(s.ambiguous for s in shares),
    }
    return f"; the others are {' or '.join(kind for kind, count in kinds.items() if count)}"


def _windows(windows: Windows) -> str:
    late_ms, early_ms, answer_ms, grace_ms = windows
    return (
        f"a timer may fire {late_ms:,} ms late and never early (clocks may differ by"
        f" {min(early_ms, late_ms)} ms); an answer that must come has {answer_ms:,} ms, one that"
        f" must not {grace_ms} ms"
    )


def percent(part: int, whole: int) -> str:
    """A share, never rounded up to 100 %."""
    share = 100 * part / whole if whole else 100.0
    return "100 %" if part == whole else f"{min(share, 99.9):.1f} %"


def _explored(states: int, edges: int) -> str:
    return f"{counted(states, 'state')}, {counted(edges, 'labelled edge')} explored"


def _rest(shares: Shares) -> str:
    branches = "branch" if shares.not_chosen == 1 else "branches"
    words = {
        "not_chosen": f"lawful {branches} the port did not take",
        "ambiguous": "tried, but not to be told apart",
        "left_out": "not supported",
        "diverged": "answered unlawfully",
        "untried": "not tried",
    }
    parts = [f"{getattr(shares, n):,} {word}" for n, word in words.items() if getattr(shares, n)]
    return f" ({', '.join(parts)})" if parts else ""
