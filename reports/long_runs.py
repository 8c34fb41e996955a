"""What a long run was made of, and what came between, as lines of its summary."""

from __future__ import annotations

from groupcheck.properties.result import Result
from groupcheck.reports.words import counted


def stages(result: Result) -> list[str]:
    """A line for each stage, one for each time that the coordinator was away; none otherwise."""
    lines = []
    for name, sequences, steps, undecided, seconds in result.stages:
        rate = f"{sequences / seconds:.1f} a second" if seconds else "at once"
        lines.append(
            f"stage      {name}: {counted(sequences, 'sequence')}, {counted(steps, 'step')},"
            f" {rate}{f', {undecided:,} undecided' if undecided else ''}"
        )
    lines += [f"away       {outage}" for outage in result.outages]
    if result.undecided:
        lines.append(
            f"undecided  {counted(result.undecided, 'sequence')} under way while it was away;"
            " --resume does them again"
        )
    return lines
