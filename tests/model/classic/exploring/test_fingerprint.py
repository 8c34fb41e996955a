"""States as text: the same in every process, and read back."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from groupcheck.model.classic.exploring.fingerprint import KEY_BYTES, digest, key, read, written
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.exploration import part
from support.economy import exhaustive_if
from support.spaces import every_instance, explored

pytestmark = pytest.mark.untraced

PRINTS = """
from groupcheck.model.classic.instances.instance import instances
from groupcheck.model.classic.exploring.fingerprint import key, written
from groupcheck.model.engine.exploration import part
from groupcheck.model.classic.profiles import PROFILES
instance = instances(PROFILES["2.7"], 2)["static"]
for node in part(instance, part(instance, [instance.initial]).nodes).nodes:
    print(key(written(node)).hex())
"""


@pytest.mark.parametrize("profile", exhaustive_if(lambda name: name in {"2.7", "4.1"}, PROFILES))
def test_each_state_has_its_own_text_and_is_read_back_from_it_with_all_types(profile: str) -> None:
    for space in every_instance(profile).values():
        texts = [written(node) for node in space.nodes]
        back = [read(text) for text in texts]
        assert list(map(repr, back)) == list(map(repr, space.nodes))
        assert len({key(text) for text in texts}) == len(texts)


def test_the_hash_of_a_state_is_the_same_in_every_process() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", PRINTS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(printed) == 1
    assert {len(line) for line in printed.pop().split()} == {2 * KEY_BYTES}


def test_a_digest_is_that_of_a_set_in_any_order_and_of_no_other() -> None:
    keys = [bytes([first, *range(15)]) for first in (7, 7 ^ 128, 8)]
    assert digest(keys) == digest(keys[::-1])
    assert len({digest(keys), digest(keys[1:]), digest(keys[:2]), digest([])}) == 4


def test_the_parts_of_a_state_space_make_the_whole() -> None:
    space = explored("2.7", "metadata")
    for start in range(0, len(space.nodes), 40):
        nodes = space.nodes[start : start + 40]
        some = part(space.instance, nodes)
        assert some.nodes[: len(nodes)] == nodes
        for node, edges in zip(nodes, some.edges, strict=False):
            assert [
                edge._replace(target=space.numbers[some.nodes[edge.target]]) for edge in edges
            ] == list(space.edges[space.numbers[node]])
        assert not any(some.edges[len(nodes) :])
