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
from groupcheck.model.engine.edits import DropRule, Edit, Exchange, UnknownPartError
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.deviations.observed import ObservedTest
from groupcheck.properties.deviations.shared_steps import SharedSteps
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings
from groupcheck.properties.verify import Verification
from support.model_port import ModelPort
from support.spaces import explored_once, together

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


@pytest.fixture(scope="module")
def observed() -> list[ObservedTest]:
    """The tests that show the deviations of a port."""
    profile = PROFILES["2.7"]
    edits = (
        DropRule("heartbeat/other-generation"),
        DropRule("sync/stable"),
        DropRule("commit/unknown-member"),
        Exchange("leave/pending-member", "leave/unknown-member"),
    )
    source = PortSource("edited", lambda: ModelPort(0, deviating(profile, edits)))
    given = together({"metadata": virtual_time_instances(profile, 2)["metadata"]})
    run = Verification(source, Settings(examples=0, walks=0), given=given)
    run.run()
    assert len(run.search.evidence) >= len(edits)
    return run.search.evidence


@pytest.mark.parametrize("adopted", [0, 3])
def test_tests_that_use_no_edited_part_are_allowed_as_without_the_edit(
    observed: list[ObservedTest], adopted: int
) -> None:
    random, profile = Random(adopted), PROFILES["2.7"]
    edits = list(edits_of(profile))
    base = next(filter(None, (_edited(profile, random.sample(edits, adopted)) for _ in edits)))
    steps = SharedSteps(base)
    verdicts = set()
    every = (_edited(base, [edit]) for edit in random.sample(edits, EDITED))
    for edited in filter(None, every):
        for test in observed:
            assert steps.allow(test, edited) == test.allowed_by(edited)
            verdicts.add(test.allowed_by(edited))
    assert False in verdicts
