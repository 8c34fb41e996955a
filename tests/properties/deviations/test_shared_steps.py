"""Steps shared by edited profiles: they are those of each profile itself."""

from __future__ import annotations

from random import Random

import pytest

from groupcheck.model.classic.edits import edits_of
from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Advance
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import successors
from groupcheck.model.engine.edits import Edit, UnknownPartError
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.deviations.shared_steps import SharedSteps
from support.spaces import explored_once

EDITED = 60
TRANSITIONS = 40


def _edited(profile: Profile, edits: list[Edit]) -> Profile | None:
    """The profile with these edits; None if they exclude each other."""
    try:
        return deviating(profile, tuple(edits))
    except UnknownPartError:
        return None


@pytest.mark.parametrize("name", ["2.7", "4.1"])
@pytest.mark.parametrize("adopted", [0, 3])
def test_shared_steps_of_edited_profiles_are_their_own_steps(name: str, adopted: int) -> None:
    random, profile = Random(adopted), PROFILES[name]
    edits = list(edits_of(profile))
    space = explored_once(virtual_time_instances(profile, 1)["storing"])
    config = space.instance.config
    base = next(filter(None, (_edited(profile, random.sample(edits, adopted)) for _ in edits)))
    steps, shared = SharedSteps(base), 0
    for _ in range(EDITED):
        edited = _edited(base, [random.choice(edits)])
        if edited is None:
            continue
        after = steps.of(edited, config)
        for node in random.sample(range(len(space.nodes)), TRANSITIONS):
            state, given = space.nodes[node], random.choice(space.edges[node]).given
            expected = successors(state, given, edited, config)
            assert after(state, given) == expected
            for there in {outcome.coordinator for outcome in expected}:  # perhaps not Kafka's
                for then in (Advance(1_000), given):
                    assert after(there, then) == successors(there, then, edited, config)
            shared += after(state, given) is steps.of(base, config)(state, given)
        if random.random() < 0.1:
            base, steps = edited, steps.after(edited)
    assert shared > EDITED * TRANSITIONS / 2
