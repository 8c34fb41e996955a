"""How fast Spark explores model instances, and in how much memory, beside one process.

Both engines explore the same instances, one after the other, and have to find the same: states,
edges, depth, statistics of actions and rules, digest of the states, the properties that do not hold
and the steps that show it. The plain process also looks for components. `states` is measured beside
them, which only finds the states and edges.

With `--max-memory` one process has to give an instance up for want of memory, and Spark, with all
its processes together, has to explore it in less. It is then compared with `states` alone, which
has no limit of memory.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from processes import measured

from groupcheck.model.engine.exploration import explore
from groupcheck.model.exploring.exploration import Settings, chosen
from groupcheck.model.exploring.fingerprint import digest, key, written
from groupcheck.model.profiles import PROFILES
from groupcheck.numeric_options import memory

SAME: Final = (
    "states",
    "transitions",
    "depth",
    "out_degree",
    "discovered",
    "actions",
    "rules",
    "digest",
)
OF_PROPERTIES: Final = ("properties", "violations")
SPACES: Final = (
    ("2.7", "membership", "2"),
    ("2.7", "membership", "3"),
    ("2.7", "membership", "4"),
    ("2.7", "failover", "3"),
    ("4.1", "static-storing", "4"),
)

Asked = tuple[str, str, str]


def _run(engine: str, command: list[str]) -> tuple[str, int, int]:
    """What a command prints, its exit status and its peak in MB, with a line of its figures."""
    output, status, (seconds, mb, processor_s) = measured([sys.executable, *command])
    states = json.loads(output)["instances"][0]["states"] if output else 0
    sys.stdout.write(
        f"{engine:<8} {states:>9,} states {seconds:8.1f} s {processor_s:8.1f} s of processor"
        f" {states / max(processor_s, 0.1):8,.0f} states a second of it {mb:7,} MB\n"
    )
    sys.stdout.flush()
    return output, status, mb


def _explored(engine: str, asked: Asked, *more: str) -> tuple[dict[str, Any], int]:
    """What an engine of `groupcheck explore` finds of a space, and its peak in MB."""
    output, status, mb = _run(engine, [*_command(asked), "--engine", engine, *more])
    assert status == 0
    found = json.loads(output)
    of_properties = {name: found[name] for name in OF_PROPERTIES}
    return {name: found["instances"][0][name] for name in SAME} | of_properties, mb


def _command(asked: Asked) -> list[str]:
    profile, space, members = asked
    command = ["-m", "groupcheck", "explore", "--json", "--profile", profile, "--instance", space]
    return [*command, "--members", members]


def _states(asked: Asked) -> dict[str, Any]:
    """The same of the explorer in one process alone, without what is asked of its graph."""
    output, _, _ = _run("states", [__file__, "--states", *asked])
    found: dict[str, Any] = json.loads(output)["instances"][0]
    return found


def _print_states(profile: str, space: str, members: str) -> None:
    found = explore(chosen(Settings(PROFILES[profile], int(members), (space,)))[space])
    keys = (key(written(node)) for node in found.nodes)
    counts = {
        "states": len(found.nodes),
        "transitions": found.transition_count,
        "depth": found.depth,
    }
    sys.stdout.write(json.dumps({"instances": [{**counts, "digest": digest(keys)}]}))


def _compared(asked: Asked, more: list[str]) -> None:
    """Both engines on a space that both can do."""
    spark, _ = _explored("spark", asked, *more)
    python, _ = _explored("python", asked)
    assert spark == python, "the engines differ"
    states = _states(asked)
    assert states == {name: spark[name] for name in states}


def _given_up(asked: Asked, more: list[str], size: str) -> None:
    """A space that one process gives up when it may have so much memory, and Spark does not."""
    _, status, _ = _run("python", [*_command(asked), "--max-memory", size])
    assert status == 2, "there is room for it in one process"
    spark, mb = _explored("spark", asked, *more)
    assert mb * 2**20 < memory(size), "Spark needs more"
    states = _states(asked)
    assert states == {name: spark[name] for name in states}, "the engines differ"


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", help="of one instance, instead of several")
    parser.add_argument("--instance")
    parser.add_argument("--members")
    parser.add_argument("--max-memory", metavar="SIZE")
    parser.add_argument("--states", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--conf", metavar="NAME=VALUE", action="append", default=[])
    options = parser.parse_args()
    more = [each for setting in options.conf for each in ("--conf", setting)]
    if options.states:
        _print_states(*options.states)
        return
    one = (options.profile, options.instance, options.members)
    for asked in [one] if options.instance else SPACES:
        sys.stdout.write(f"{asked[1]} of {asked[0]}, members: {asked[2]}\n")
        if options.max_memory:
            _given_up(asked, more, options.max_memory)
        else:
            _compared(asked, more)
    sys.stdout.write("all found the same\n")


if __name__ == "__main__":
    main()
