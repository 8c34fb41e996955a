"""The summary of a verification, on a screen."""

from __future__ import annotations

from pathlib import Path

from groupcheck.properties.result import Result, Shares
from groupcheck.reports.story import story
from groupcheck.reports.words import bounded, counted


def summary(result: Result, files: list[Path]) -> str:
    """What was done, what was shown, and the verdict; findings first, the verdict last."""
    lines = [f"port       {result.port}, judged as {result.kafka}"]
    for space in result.spaces:
        shares = space.shares
        lines.append(
            f"space      {space.name}: {_explored(space.states, space.edges)};"
            f" {_percent(shares.shown, shares.edges)} of the edges shown{_rest(shares)}"
        )
    states = sum(space.states for space in result.spaces)
    lines.append(
        f"in all     {_explored(states, result.edges)};"
        f" {counted(result.shown, 'edge')} shown ({_percent(result.shown, result.edges)})"
    )
    lines.append(
        f"ran        {counted(result.sequences, 'sequence')}, {counted(result.steps, 'step')}"
        f" in {result.seconds:.1f} s (seed {result.settings.seed})"
    )
    if result.unsupported:
        lines.append(f"left out   not supported by the port: {', '.join(result.unsupported)}")
    if result.presumed:
        lines.append(f"presumed   as the broker does not tell: {', '.join(result.presumed)}")
    if result.more:
        more = counted(result.more, "other finding")
        lines.append(f"more       {more}, not made minimal and not told")
    if result.not_reproduced:
        lines.append(f"not told   findings that were not reproduced: {result.not_reproduced}")
    if files:
        lines.append(f"written    {counted(len(files), 'file')} in {files[0].parent}")
    lines.append(f"verdict    {verdict(result)}")
    stories = "".join(f"{story(finding)}\n" for finding in result.findings)
    return stories + "".join(f"{bounded(line)}\n" for line in lines)


def verdict(result: Result) -> str:
    """The verdict in one line."""
    found = counted(len(result.findings), "finding")
    if result.ended_early and result.findings:
        return f"{result.ended_early}, with {found} until then, perhaps not minimal"
    if result.ended_early:
        return f"{result.ended_early}, with nothing found until then"
    if result.findings:
        return f"diverges from {result.kafka}: {found}"
    if not result.answered:
        return "none: the port answered no request, so nothing can be said of it"
    share = _percent(result.shown, result.edges)
    return f"conforms to {result.kafka} in all that it showed, {share} of the labelled edges"


def _percent(part: int, whole: int) -> str:
    """Never rounded up to 100 %."""
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
