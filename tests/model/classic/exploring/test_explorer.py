"""Exact counts of the explored instances, so that every change of the model is noticed."""

from __future__ import annotations

import re

import pytest

from groupcheck.model.classic.instances.instance import instances
from groupcheck.model.classic.profiles import PROFILES
from support.economy import exhaustive_if
from support.marked_tests import ROOT
from support.spaces import whole

pytestmark = pytest.mark.untraced

# version, instance, members -> states, transitions, depth
COUNTS = {
    ("2.7", "membership", 1): (61, 682, 19),
    ("2.7", "metadata", 1): (24, 288, 7),
    ("2.7", "storing", 1): (126, 2114, 10),
    ("2.7", "order", 1): (47, 836, 8),
    ("2.7", "membership", 2): (401, 6589, 17),
    ("2.7", "metadata", 2): (106, 2039, 9),
    ("2.7", "storing", 2): (436, 9616, 12),
    ("2.7", "order", 2): (211, 5574, 10),
    ("2.7", "membership", 3): (1978, 47214, 18),
    ("2.7", "metadata", 3): (404, 11576, 13),
    ("2.7", "storing", 3): (1344, 40156, 15),
    ("2.7", "order", 3): (807, 30084, 14),
    # Appends are held, and responses are deferred.
    ("4.1", "storing", 1): (833, 11808, 13),
    ("4.1", "storing", 2): (3090, 56401, 14),
    ("4.1", "static-storing", 2): (2054, 41113, 11),
    ("4.1", "failover", 2): (1096, 20798, 13),
}


def _is_large(key: tuple[str, str, int]) -> bool:
    return COUNTS[key][1] > 12_000  # transitions


def _text(key: tuple[str, str, int]) -> str:
    return "-".join(map(str, key))


@pytest.mark.parametrize("key", exhaustive_if(_is_large, COUNTS), ids=_text)
def test_an_instance_has_exactly_these_states_transitions_and_depth(
    key: tuple[str, str, int],
) -> None:
    version, name, members = key
    space = whole(instances(PROFILES[version], members)[name])
    assert (len(space.nodes), space.transition_count, space.depth) == COUNTS[key]


@pytest.mark.exhaustive
def test_the_page_of_the_model_has_the_counts_of_every_instance() -> None:
    page = (ROOT / "docs/model.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (\d) \| ([\d,]+) \| ([\d,]+) \|", page, re.MULTILINE)
    assert {name for name, *_ in rows} == instances(PROFILES["2.7"], 2).keys()
    for name, members, *counts in rows:
        if members == "3" and ("2.7", name, 3) in COUNTS:
            states, transitions, _ = COUNTS["2.7", name, 3]
        else:
            space = whole(instances(PROFILES["2.7"], 2)[name])
            assert space.instance.members == int(members)
            states, transitions = len(space.nodes), space.transition_count
        assert counts == [f"{states:,}", f"{transitions:,}"], name
