"""Several checks of logs as one: each group is counted where it was checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from groupcheck.reports.saved_sections import Check

SUMS = ("groups", "accepted", "rejected", "undecided", "events", "judged")
MOST_OFTEN = 3  # as many as a check tells


def checks(several: Sequence[Check]) -> Check | None:
    """The checks put together, if there are any; which edges all of them show nobody knows."""
    if not several:
        return None
    reads = [check.read for check in several if check.read is not None]
    often = (each for check in several for each in check.rebalancing)
    return msgspec.structs.replace(
        several[0],
        **{name: sum(getattr(check, name) for check in several) for name in SUMS},
        reasons=_summed(check.reasons for check in several),
        edges=None,
        explored=None,
        both=None,
        rebalancing=tuple(sorted(often, key=lambda each: -each.times)[:MOST_OFTEN]),
        read=_summed(reads) if len(reads) == len(several) else None,
        rebalances=tuple(each for check in several for each in check.rebalances),
    )


def _summed(several: Iterable[dict[str, int]]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for each in several:
        counts.update(each)
    return dict(counts.most_common())
