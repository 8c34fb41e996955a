"""Coverage files: their union loses nothing and never mixes two models."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.model.engine.exploration import explore
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.instances.instance import virtual_time_instances
from groupcheck.model.profiles import PROFILES
from groupcheck.properties.coverage.covered import (
    Covered,
    MalformedCoverageError,
    ProfileCovered,
    SpaceCovered,
    covered_space,
    digest,
    merged,
    read,
    write,
)
from groupcheck.properties.coverage.numbering import first_edges, first_pairs
from groupcheck.properties.coverage.pairs import PairCoverage, Second
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings
from groupcheck.properties.verify import Verification
from support.spaces import explored as explored_space

EDGES, PAIRS = 20, 50

spaces = st.builds(
    SpaceCovered,
    st.just("d"),
    st.just(EDGES),
    st.integers(0, 2**EDGES - 1),
    st.just(PAIRS),
    st.integers(0, 2**PAIRS - 1),
)
covereds = st.dictionaries(
    st.sampled_from(["2.7", "4.1"]),
    st.builds(
        ProfileCovered,
        st.dictionaries(st.sampled_from(["a/2", "b/2"]), spaces),
        st.frozensets(st.sampled_from(["x", "y", "z"])),
    ),
)


def _together(*several: Covered) -> Covered:
    return merged(("file", covered) for covered in several).covered


@given(covereds, covereds, covereds)
def test_merging_is_a_union_in_any_order(one: Covered, two: Covered, three: Covered) -> None:
    whole = _together(one, two, three)
    assert _together(_together(three, two), one) == whole
    assert _together(whole, two) == whole
    for name, profile in one.items():
        assert profile.applied <= whole[name].applied
        for space, each in profile.spaces.items():
            assert each.bits & ~whole[name].spaces[space].bits == 0
            assert each.pair_bits & ~whole[name].spaces[space].pair_bits == 0


def test_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "coverage.json"
    covered = {"2.7": ProfileCovered({"a/2": SpaceCovered("d", 9, 257, 7, 65)}, frozenset({"x"}))}
    write(path, covered)
    write(path, covered)
    assert read(path) == covered
    assert [each.name for each in tmp_path.iterdir()] == ["coverage.json"]


def test_coverage_of_another_model_is_refused_and_reported() -> None:
    one = {"2.7": ProfileCovered({"a/2": SpaceCovered("d", 9, 1)}, frozenset())}
    other = {"2.7": ProfileCovered({"a/2": SpaceCovered("e", 9, 2)}, frozenset())}
    together = merged([("mine", one), ("theirs", other)])
    assert together.covered == one
    assert together.refused == ("theirs: 2.7 a/2 is of another model",)


def test_digest_depends_on_the_transitions() -> None:
    one, two = (
        explore(virtual_time_instances(PROFILES[name], 1)["metadata"]) for name in ("2.7", "4.1")
    )
    again = explore(virtual_time_instances(PROFILES["2.7"], 1)["metadata"])
    covered = [TransitionReference(0, 0), TransitionReference(2, 1)]
    first = covered_space(one, digest(one), covered)
    assert first == covered_space(again, digest(again), covered)
    assert first.shown == 2
    assert first.digest != digest(two)


def test_each_pair_of_adjacent_transitions_has_its_own_bit() -> None:
    space = explored_space("2.7", "metadata")
    coverage = PairCoverage(space, Random(0))
    edges = coverage.space.edges
    coverage.shown = {
        TransitionReference(n, e)
        for n, each in enumerate(edges)
        for e, edge in enumerate(each)
        if isinstance(edge, Second)
    }
    pairs = coverage.covered_pairs()
    assert all(space.edges[n][e].target == second.node != n for (n, e), second in pairs)
    covered = covered_space(space, "d", (), pairs)
    assert covered.pairs == covered.pairs_shown == len(pairs) == 9_393


def test_walks_and_tours_count_exactly_the_pairs_that_they_have_covered() -> None:
    source = PortSource("port", lambda: BuiltinPort(1))
    verification = Verification(source, Settings(members=1, examples=0, walks=40))
    verification.run()
    for name, coverage in verification._coverages.items():
        space, walked = coverage.space, verification._walked_pairs[name]
        edge, pair = first_edges(space), first_pairs(space)
        hops = [
            TransitionReference(n, e)
            for n, edges in enumerate(space.edges)
            for e in range(len(edges))
        ]
        by_number = {
            pair[edge[hop.node] + hop.edge] + second: (
                hop,
                TransitionReference(coverage.after(hop), second),
            )
            for hop in hops
            if coverage.after(hop) != hop.node
            for second in range(len(space.edges[coverage.after(hop)]))
        }
        assert len(by_number) == pair[-1]
        for one, other in (*coverage.covered_pairs(), *(by_number[number] for number in walked)):
            assert {one, other} <= coverage.shown
            assert coverage.after(one) == other.node != one.node
        toured = sum(steps - 1 for steps in verification._walked[coverage])
        assert 0 < len(coverage.covered_pairs()) <= toured
        assert walked


PACKED = base64.b64encode(zlib.compress(b"\1")).decode()
GOOD = {"digest": "d", "transitions": 9, "covered": PACKED, "pairs": 9, "pairs_covered": PACKED}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": 2, "profiles": {}}',
        '{"format": 3, "profiles": []}',
        *(
            json.dumps(
                {"format": 3, "profiles": {"2.7": {"instances": {"a/2": space}, "applied": []}}}
            )
            for space in (
                {**GOOD, "transitions": "9"},
                {**GOOD, "transitions": -1},
                {**GOOD, "covered": "!"},
                {**GOOD, "covered": "/////w=="},
                {**GOOD, "covered": base64.b64encode(zlib.compress(b"\xff" * 4)).decode()},
                {**GOOD, "pairs_covered": base64.b64encode(zlib.compress(b"\xff" * 4)).decode()},
                {**GOOD, "pairs": None},
                {"digest": "d", "transitions": 9, "covered": PACKED},
                {**GOOD, "digest": 1},
            )
        ),
        '{"format": 3, "profiles": {"2.7": {"instances": {}, "applied": [1]}}}',
        "[" * 100_000,
    ],
)
def test_invalid_coverage_file_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "coverage.json"
    path.write_text(text)
    with pytest.raises(MalformedCoverageError, match=r"coverage\.json (is|has)"):
        read(path)


def test_verification_returns_all_that_it_has_covered() -> None:
    source = PortSource("port", lambda: BuiltinPort(1))
    verification = Verification(source, Settings(members=1, examples=5, walks=10))
    result = verification.run()
    covered = verification.covered()["2.7"]
    assert {name: each.shown for name, each in covered.spaces.items()} == {
        each.label: each.transitions.covered for each in result.instances
    }
    explored = {rule for c in verification._coverages.values() for rule in c.space.applied}
    assert covered.applied > explored  # walks go beyond the spaces
    assert covered.applied <= set(PROFILES["2.7"].rules)
