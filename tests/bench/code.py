"""Write what runs the built-in coordinator's code, and what of it nothing runs, and why.

    groupcheck verify builtin --code implementation/core --report build/code-2.7
    groupcheck verify builtin --profile 4.1 --code implementation/core --report build/code-4.1
    python tests/bench/code.py build/code-2.7 build/code-4.1

It also does one verification with and without `--code`, and writes docs/code.md. It fails if
something never ran whose reason is not here, or ran although a reason is.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from groupcheck.properties.code.code import Code
from groupcheck.properties.code.ran import united
from groupcheck.properties.code.tracing import Tracing
from groupcheck.properties.ports.source import port_source
from groupcheck.properties.result import Settings
from groupcheck.properties.verify import Verification
from groupcheck.reports.code import edge_said, not_run
from groupcheck.reports.saved_file import read

ROOT: Final = Path(__file__).parents[2]
CORE: Final = ROOT / "implementation" / "core"
PAGE: Final = ROOT / "docs" / "code.md"
SETTINGS: Final = Settings(members=1, examples=0, walks=0)
MOST_ALIKE: Final = 3
# Why something of a function never ran, by what its place begins with.
SERVER: Final = "the server asks for it, and no port (`tests/implementation/server`)"
CHOOSES: Final = "the default choice; ports choose by their seed"
ONE_GROUP: Final = "it takes several groups, and a port has one (`tests/implementation`)"
LATE: Final = (
    "it takes an append that fails after it has taken effect, as in a directory that is full"
    " (`tests/implementation`)"
)
UNREADABLE: Final = "bytes that cannot be read are not offered (`tests/implementation`)"
EVERY: Final = "the spaces of `--every-space` have it"
UNDER_WAY: Final = (
    "it takes an append that is held, or fails, while another of the group is under way, and no"
    " explored space has two"
)
TRANSACTION: Final = (
    "it takes a marker whose append is held in 4.1 while its transaction is open; no space that is"
    " walked has both"
)
GUARD: Final = "a guard: whoever calls it has seen to that"
BECAUSE: Final[dict[str, str]] = {
    "administration.py: AdminApi._wait.released": ONE_GROUP,
    "commits.py: CommitApi._stored": EVERY,
    "committed.py: Committed.note": TRANSACTION,
    "config.py: first": CHOOSES,
    "config.py: random_member_id": "ports give ids that are the same in each run",
    "coordinator.py: Coordinator.advance": "no port lets time go back (`tests/implementation`)",
    "coordinator.py: Coordinator.take": LATE,
    "coordinator.py: Coordinator.apis": SERVER,
    "coordinator.py: Coordinator.next_deadline_ms": SERVER,
    "coordinator.py: _nameless": EVERY,
    "group.py: Group.remove": GUARD,
    "group.py: Group.rename": "only static members are given another id",
    "group.py: _any_of": CHOOSES,
    "leaving.py: LeaveApi._leave_at_once": EVERY,
    "loading.py: Loading.load": "no port is told to load what is served",
    "loading.py: Loading.revert": LATE,
    "loading.py: Loading.reload": LATE,
    "loading.py: Loading._lose": UNDER_WAY,
    "loading.py: Loading._load": "it takes a `group.max.size` that is another after the load",
    "offsets.py: GroupOffsets.complete": UNDER_WAY,
    "offsets.py: GroupOffsets.complete_stage": UNDER_WAY,
    "offsets.py: GroupOffsets.fail_stage": UNDER_WAY,
    "partitions.py: partition_for": "the group ids of tests are ASCII (`tests/implementation`)",
    "rebalance.py: Rebalance.expire_syncs": GUARD,
    "replay.py: Replay._put": GUARD,
    "replay.py: Replay._remove": "nobody appends a tombstone within a transaction",
    "static_members.py: StaticMembers.come_back": EVERY,
    "static_members.py: StaticMembers._tell": UNDER_WAY,
    "static_members.py: StaticMembers._tell_lost": UNDER_WAY,
    "static_members.py: StaticMembers._undo": UNDER_WAY,
    "subscriptions.py: _topics": UNREADABLE,
    "syncing.py: SyncApi._lost": UNDER_WAY,
    "timers.py: Timer.owner": "each kind of timer has its own",
    "timers.py: Timers.__len__": "tests count timers by it",
    "timers.py: Timers.pop": CHOOSES,
    "transactions.py: Transactions._readable_by": TRANSACTION,
    "writing.py: Writing._settle": LATE,
}

FIRST: Final = "## What it costs\n"  # of the part that is written here
COST: Final = """\

`verify builtin` with `--members 1 --examples 0 --walks 0`, {steps:,} steps: {without:.1f} s of
processor without `--code`, {watched:.1f} s with it ({ratio:.1f} times).

"""
BUILTIN: Final = """\
## The built-in coordinator

All of `implementation/core`, by what is verified by default (tours of the explored spaces, random
sequences within and beyond them) as Kafka 2.7 and as 4.1:

```
groupcheck verify builtin --code implementation/core --report build/code-2.7
groupcheck verify builtin --profile 4.1 --code implementation/core --report build/code-4.1
python tests/bench/code.py build/code-2.7 build/code-4.1
```

{lines_ran:,} of {lines:,} lines in {functions:,} functions ran, under {edges:,} labelled edges, and
{taken:,} of {branches:,} branches were taken ({date}). Each exception:

| function | never | why |
| --- | --- | --- |
"""
ALIKE: Final = """
Of the edges by other rules that run the very same lines there are {groups} groups. In each of them
the code has the difference in a value, or tells them apart within one line:

"""


def _seconds(*, watched: bool) -> tuple[float, int]:
    """Seconds of processor that a verification takes, and its steps."""
    source = port_source("builtin")
    began = time.process_time()
    if watched:
        with Tracing([CORE]) as tracing:
            result = Verification(tracing.traced(source), SETTINGS).run()
    else:
        result = Verification(source, SETTINGS).run()
    return time.process_time() - began, result.steps


def page(code: Code) -> tuple[str, list[str]]:
    """The page, and what is wrong with the reasons."""
    functions = [function for _, function in code.functions]
    lines = sum(len(f.lines) for f in functions)
    branches = sum(f.branches for f in functions)
    without, steps = _seconds(watched=False)
    watched, _ = _seconds(watched=True)
    text = FIRST + COST.format(
        steps=steps, without=without, watched=watched, ratio=watched / without
    )
    text += BUILTIN.format(
        lines_ran=lines - sum(len(f.never) + len(f.outside) for f in functions),
        lines=lines,
        functions=len(functions),
        edges=len(code.edges),
        taken=branches - sum(len(f.untaken) for f in functions),
        branches=branches,
        date=datetime.now(UTC).date().isoformat(),
    )
    wrong, used = [], set()
    for said in not_run(code):
        path, name, what = said.split(": ", 2)
        place = f"{path.removeprefix('core/')}: {name}"
        if place not in BECAUSE:
            wrong.append(f"no reason is known for {said}")
        used.add(place)
        text += f"| {place} | {what.replace('never ', '')} | {BECAUSE.get(place, '?')} |\n"
    wrong += [f"{place} ran, although it has a reason" for place in BECAUSE.keys() - used]
    text += ALIKE.format(groups=len(code.alike))
    for group in code.alike:
        several = {code.edges[place].rules: code.edges[place] for place in group}
        each = [f"`{edge_said(edge)}`" for edge in list(several.values())[:MOST_ALIKE]]
        more = len(several) - len(each)
        text += f"- {'; '.join(each)}{f'; and {more} more' if more else ''}\n"
    return text, wrong


def main() -> int:
    """Write the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("results", metavar="RESULT", type=Path, nargs="+")
    codes = [read(path).code for path in options.parse_args().results]
    text, wrong = page(united(code for code in codes if code is not None))
    kept = PAGE.read_text(encoding="utf-8").partition(FIRST)[0]
    PAGE.write_text(kept + text, encoding="utf-8")
    sys.stderr.write("".join(f"{each}\n" for each in wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
