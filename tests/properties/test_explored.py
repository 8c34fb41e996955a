"""An instance is explored again with every edit of the rules that changes it."""

from __future__ import annotations

import pytest

from groupcheck.model.classic.edits import edits_of
from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.properties.explored import deviating_space, rules_affected, space_of


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.7", "4.1"])
def test_an_edit_of_rules_that_an_instance_does_not_apply_leaves_it_as_it_is(version: str) -> None:
    profile = PROFILES[version]
    space = space_of(virtual_time_instances(profile, 1)["metadata"])
    affected = [(edit, rules_affected(edit, profile.version)) for edit in edits_of(profile)]
    rest = [edit for edit, rules in affected if rules and rules.isdisjoint(space.applied)]
    for edit in rest:
        found = deviating_space(space, profile.edited(edit))
        assert found is not None
        assert (found.nodes, found.edges) == (space.nodes, space.edges), str(edit)
    assert len(rest) > 100
