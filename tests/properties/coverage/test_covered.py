"""Coverage files: their union loses nothing and never mixes two models."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.exploration import explore
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.properties.coverage.covered import (
    Covered,
    MalformedCoverageError,
    ProfileCovered,
    SpaceCovered,
    covered_space,
    digest,
    first_pairs,
    merged,
    packed,
    read,
    references,
    write,
)
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings
from groupcheck.properties.verify import Verification

EDGES, PAIRS = 20, 50


def covering(
    bits: Iterable[int], pairs: Iterable[int] = (), *, its_digest: str = "d"
) -> SpaceCovered:
    return SpaceCovered(its_digest, EDGES, packed(EDGES, bits), PAIRS, packed(PAIRS, pairs))


spaces = st.builds(covering, st.sets(st.integers(0, EDGES - 1)), st.sets(st.integers(0, PAIRS - 1)))
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


@pytest.mark.slow
@given(covereds, covereds, covereds)
def test_merging_is_a_union_in_any_order(one: Covered, two: Covered, three: Covered) -> None:
    whole = _together(one, two, three)
    assert _together(_together(three, two), one) == whole
    assert _together(whole, two) == whole
    for name, profile in one.items():
        assert profile.applied <= whole[name].applied
        for space, each in profile.instances.items():
            assert each.union(whole[name].instances[space]) == whole[name].instances[space]


def test_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "coverage.json"
    covered = {"2.7": ProfileCovered({"a/2": covering([0, 8], [1])}, frozenset({"x"}))}
    write(path, covered)
    write(path, covered)
    assert read(path) == covered
    assert [each.name for each in tmp_path.iterdir()] == ["coverage.json"]


def test_coverage_of_another_model_is_refused_and_reported() -> None:
    one = {"2.7": ProfileCovered({"a/2": covering([0])}, frozenset())}
    other = {"2.7": ProfileCovered({"a/2": covering([1], its_digest="e")}, frozenset())}
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


def test_walks_and_tours_count_exactly_the_pairs_that_they_have_covered() -> None:
    source = PortSource("port", lambda: BuiltinPort(1))
    verification = Verification(source, Settings(members=1, examples=0, walks=40))
    verification.run()
    for name, coverage in verification.coverages.items():
        space, walked = coverage.space, verification.walked_pairs[name]
        pair = first_pairs(space)
        by_number = {
            pair[number] + second: (
                transition,
                TransitionReference(coverage.after(transition), second),
            )
            for number, transition in enumerate(references(space))
            if coverage.after(transition) != transition.node
            for second in range(len(space.edges[coverage.after(transition)]))
        }
        assert len(by_number) == pair[-1]
        for one, other in (*coverage.covered_pairs(), *(by_number[number] for number in walked)):
            assert {one, other} <= coverage.shown
            assert coverage.after(one) == other.node != one.node
        toured = sum(steps - 1 for steps in verification.test_lengths[coverage])
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
    assert {name: each.shown for name, each in covered.instances.items()} == {
        each.label: each.transitions.covered for each in result.instances
    }
    explored = {rule for c in verification.coverages.values() for rule in c.space.applied}
    assert covered.applied > explored  # walks go beyond the spaces
    assert covered.applied <= set(PROFILES["2.7"].rules)
