"""A suite on disk: a line about it, and for each test a line with the ids of its transitions.

When the model has changed, the tests whose transitions all still exist are kept, and only the
transitions that they do not cover are planned again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from groupcheck.model.classic.exploring.fingerprint import edge_ids
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.properties.generators.suite import Path as TestPath
from groupcheck.properties.generators.suite import Suite, suite

FORMAT = 1


def write_suite(name: str, space: StateSpace, limit: int, directory: Path) -> tuple[Path, Suite]:
    """Write NAME.tests.jsonl, with the valid tests of an earlier one; return the suite.

    Raises:
        OSError: the file cannot be read or written.
    """
    path = directory / f"{name}.tests.jsonl"
    ids = edge_ids(space)
    made = suite(space, limit, kept=tuple(_kept(path, space, ids, limit)))
    head = {
        "format": FORMAT,
        "instance": name,
        "profile": space.instance.profile.name,
        "config": space.instance.broker,
        "limit": limit,
        "transitions": space.transition_count,
        "steps": made.steps,
        "lower_bound": made.lower_bound,
        "kept": made.kept,
    }
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{json.dumps(head)}\n")
        for test in made.tests:
            file.write(
                f"{json.dumps([ids[transition.node][transition.edge] for transition in test])}\n"
            )
    return path, made


def _kept(
    path: Path, space: StateSpace, ids: tuple[tuple[str, ...], ...], limit: int
) -> Iterator[TestPath]:
    """The tests of an earlier file that are valid in this instance; none if it is not a suite."""
    if not path.exists():
        return
    by_id = {
        name: TransitionReference(node, index)
        for node, names in enumerate(ids)
        for index, name in enumerate(names)
    }
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines()[1:]:
        try:
            names = json.loads(line)
            transitions = tuple(by_id[name] for name in names)
        except (ValueError, TypeError, KeyError):
            continue
        if 0 < len(transitions) <= limit and _is_path(space, transitions):
            yield transitions


def _is_path(space: StateSpace, transitions: TestPath) -> bool:
    node = 0
    for transition in transitions:
        if transition.node != node:
            return False
        node = space.edges[transition.node][transition.edge].target
    return True
