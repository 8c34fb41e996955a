"""The full comparison allows every literal match."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from groupcheck.model.classic.instances.instance import feature_instances, virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.vocabulary import API_OF, GroupView, ResponseBody
from groupcheck.properties.compare import differing_field
from groupcheck.properties.generators import walks
from groupcheck.properties.generators.choices import Guide
from groupcheck.properties.generators.expected_view import ExpectedView
from groupcheck.properties.generators.precomputed import AllowedAnswer, PrecomputedSteps
from groupcheck.properties.generators.walk_state import WalkState
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.response_matching import matches, matches_literally
from support.spaces import explored_once

PROFILE = PROFILES["2.7"]


def altered(record: Any, others: list[str]) -> Iterator[Any]:
    """A record with one value changed, in each of many ways."""
    for field, value in zip(record._fields, record, strict=True):
        for other in instead_of(value, others):
            if other != value:
                yield record._replace(**{field: other})


def instead_of(value: Any, others: list[str]) -> Iterator[Any]:
    """Replacements for a value; lists with other entries, or with changed ones."""
    if isinstance(value, tuple):
        yield from (value[::-1], value[1:], value + value[:1])
        for at, entry in enumerate(value):
            named = isinstance(entry, tuple)
            for other in altered(entry, others) if named else instead_of(entry, others):
                yield (*value[:at], other, *value[at + 1 :])
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (type(value)(0), value + 1)
    elif isinstance(value, bytes):
        yield value + b"x"
    else:
        yield from (*others, None, "")


@pytest.mark.parametrize("name", ["membership", "static", "storing", "transactions"])
def test_an_answer_that_matches_literally_matches_in_its_normal_form(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = {"answers": 0, "views": 0, "wrong": 0}

    def checked_match(allowed: AllowedAnswer, answer: ResponseBody, at: WalkState) -> bool:
        version = PROFILE.max_versions[API_OF[type(answer)]]
        for other in altered(answer, [*at.revealed, "nobody-9"]):
            if matches_literally(allowed, other, at):
                assert matches(allowed, other, at, version), (allowed, other, at)
            counts["wrong"] += 1
        found = matches_literally(allowed, answer, at)
        counts["answers"] += found
        return found

    fits = ExpectedView.fits

    def checked_fits(
        self: ExpectedView,
        view: GroupView,
        names: dict[str, str],
        revealed: dict[str, str],
        generation_offset: int,
    ) -> bool:
        group = next(
            precomputed.group(node, generation_offset)
            for node, expected in enumerate(precomputed._views)
            if expected is self
        )
        known = {real: name for name, real in names.items() if real in revealed}
        for other in altered(view, [*revealed, "nobody-9"]):
            if fits(self, other, names, revealed, generation_offset):
                assert differing_field(group, other, known) is None, (group, other, names)
            counts["wrong"] += 1
        found = fits(self, view, names, revealed, generation_offset)
        counts["views"] += found
        return found

    monkeypatch.setattr(walks, "matches_literally", checked_match)
    monkeypatch.setattr(ExpectedView, "fits", checked_fits)
    spaces = virtual_time_instances(PROFILE, 2) | feature_instances(PROFILE, 2)
    precomputed = PrecomputedSteps(explored_once(spaces[name]))
    walker, guide = walks.Walker(precomputed, BuiltinPort(1)), Guide(precomputed, Random(0))
    assert all(walker.walk(guide, 40)[1] is None for _ in range(12))
    assert counts["answers"] > 100
    assert counts["views"] > 50
    assert counts["wrong"] > 10_000
