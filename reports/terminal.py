"""The summary of a verification, on a screen."""

from __future__ import annotations

from groupcheck.properties.result import Result
from groupcheck.reports.story import story


def summary(result: Result, files: list[str]) -> str:
    """What was done, what was shown, and the verdict; findings first, the verdict last."""
    lines = [story(finding) for finding in result.findings]
    settings = result.settings
    lines.append(f"port       {result.port}, judged as {result.kafka}")
    for space in result.spaces:
        shares = space.shares
        lines.append(
            f"space      {space.name}: {space.states:,} states, {space.edges:,} labelled edges"
            f" explored; {_percent(shares.shown, shares.edges)} of the edges shown{_rest(shares)}"
        )
    states = sum(space.states for space in result.spaces)
    lines.append(
        f"in all     {states:,} states, {result.edges:,} labelled edges explored;"
        f" {result.shown:,} edges shown ({_percent(result.shown, result.edges)})"
    )
    lines.append(
        f"ran        {result.sequences:,} sequences, {result.steps:,} steps"
        f" in {result.seconds:.1f} s (seed {settings.seed})"
    )
    if result.unsupported:
        lines.append(f"left out   not supported by the port: {', '.join(result.unsupported)}")
    if result.presumed:
        lines.append(f"presumed   as the broker does not tell: {', '.join(result.presumed)}")
    if result.more:
        lines.append(f"more       {result.more} other findings, not made minimal and not told")
    if result.not_reproduced:
        lines.append(f"not told   findings that were not reproduced: {result.not_reproduced}")
    lines += [f"written    {file}" for file in files]
    lines.append(f"verdict    {verdict(result)}")
    return "\n".join(lines) + "\n"


def verdict(result: Result) -> str:
    """The verdict in one line."""
    count = len(result.findings)
    found = f"{count} finding{'' if count == 1 else 's'}"
    if result.ended_early:
        return f"{result.ended_early}, with {found if count else 'nothing found'} until then"
    if count:
        return f"diverges from {result.kafka}: {found}"
    if not result.answered:
        return "none: the port answered no request, so nothing can be said of it"
    share = _percent(result.shown, result.edges)
    return f"conforms to {result.kafka} in all that it showed, {share} of the labelled edges"


def _percent(part: int, whole: int) -> str:
    """Never rounded up to 100 %."""
    share = 100 * part / whole if whole else 100.0
    return "100 %" if part == whole else f"{min(share, 99.9):.1f} %"


def _rest(shares: object) -> str:
    words = {
        "not_chosen": "lawful branches the port did not take",
        "ambiguous": "tried, but not to be told apart",
        "left_out": "not supported",
        "diverged": "answered unlawfully",
        "untried": "not tried",
    }
    parts = [f"{getattr(shares, n):,} {word}" for n, word in words.items() if getattr(shares, n)]
    return f" ({', '.join(parts)})" if parts else ""
