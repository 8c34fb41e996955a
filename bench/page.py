"""How large the HTML report is, and how long it takes to make and to open in Chromium.

For a small result, a default verification, and a hundred thousand transitions.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from groupcheck.model.engine.exploration import StateSpace, explore
from groupcheck.model.instances.instance import Instance, feature_instances, virtual_time_instances
from groupcheck.model.instances.small import small_instances
from groupcheck.model.profiles import PROFILES
from groupcheck.properties.coverage.covered import digest
from groupcheck.properties.coverage.kind import Kind
from groupcheck.properties.result import InstanceCoverage, TransitionCounts
from groupcheck.reports import record as saved
from groupcheck.reports.changes import changes
from groupcheck.reports.explored_graphs import again
from groupcheck.reports.html import as_html
from support.browser import Browser, browser
from support.saved_results import diverging

PROFILE = PROFILES["2.7"]
FIGURES = "const n = performance.getEntriesByType('navigation')[0]; return n.loadEventEnd"
FILTER = (
    "const t = performance.now(); const s = document.getElementById('search');"
    " s.value = 'heartbeat illegal'; s.dispatchEvent(new Event('input'));"
    " return performance.now() - t"
)


def main() -> None:
    """Print a line for each result."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    features = feature_instances(PROFILE, 2)
    instances = {
        "small": virtual_time_instances(PROFILE, 1),
        "default": {**virtual_time_instances(PROFILE, 2), **small_instances(PROFILE, 2)},
        "large": {name: features[name] for name in ("failing-static", "static")},
    }
    with TemporaryDirectory() as directory, browser() as opened:
        for name, each in instances.items():
            path = Path(directory) / f"{name}.html"
            members = 1 if name == "small" else 2
            line = _measured(_result(each, members), path, opened)
            sys.stdout.write(f"{name:<8}{line}\n")


def _result(instances: dict[str, Instance], members: int) -> saved.ResultRecord:
    """A result with the findings of a faulty port, on these instances."""
    covered = tuple(_coverage(name, members, explore(each)) for name, each in instances.items())
    return msgspec.structs.replace(diverging(), instances=covered)


def _coverage(name: str, members: int, space: StateSpace) -> InstanceCoverage:
    outcomes = Kind.ANSWERED * space.transition_count
    return InstanceCoverage(
        name=name,
        members=members,
        states=len(space.nodes),
        depth=space.depth,
        transitions=TransitionCounts.of(outcomes),
        outcomes=outcomes,
        broker=dict(space.instance.broker),
        digest=digest(space),
    )


def _measured(result: saved.ResultRecord, path: Path, opened: Browser) -> str:
    started = time.process_time()
    graphs = again(result)
    explored = time.process_time()
    path.write_text(as_html(result, changes(result, None), graphs), encoding="utf-8")
    made = time.process_time()
    loads = []
    for _ in range(3):
        opened.open(path)
        loads.append(opened.run(FIGURES))
    filtered = min(opened.run(FILTER) for _ in range(3))
    return (
        f"{result.transitions:>8,} transitions, {path.stat().st_size / 1e6:5.2f} MB; explored in"
        f" {explored - started:.1f} s, made in {made - explored:.1f} s of CPU; loaded in"
        f" {min(loads):.0f} ms, filtered in {filtered:.0f} ms"
    )


if __name__ == "__main__":
    main()
