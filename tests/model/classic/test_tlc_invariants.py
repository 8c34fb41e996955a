"""TLC checks the invariants of the specification, and finds the same violations as Python.

In `tlc.tsv` each row is of a run in which TLC found no state that violates one of the invariants of
the instance's configuration.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from groupcheck.model.classic.instances.instance import instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.properties.temporal.known_violations import known_violations
from groupcheck.properties.temporal.safety import violations
from support import tla
from support.spaces import whole
from support.tlc_record import cases

# The invariants that versions of Kafka violate, each with an instance that shows it.
BROKEN: Final = {
    ("0.10.0", "JoinPhaseEndsAtOnce"): "metadata",
    ("0.10.2", "JoinPhaseEndsAtOnce"): "metadata",
    ("0.10.2", "NoOrphanedTimers"): "membership",
    ("2.7", "NoRebalanceWithoutMembers"): "membership",
    ("2.7", "InstanceIdsOfMembers"): "crowded",
    ("4.1", "NoRebalanceWithoutMembers"): "membership",
    ("4.1", "AssignedOnlyInStable"): "membership",
    ("4.1", "JoinPhaseEndsAtOnce"): "crowded",
    ("4.1", "SyncAwaitedOfMembers"): "static",
}

# For each other invariant: text of a module, an edit that violates it, and an instance of 2.7.
EDITS: Final = {
    "Leader": (
        "Rebalance",
        "IF s.group.leader \\notin names THEN",
        "IF TRUE THEN",
        "membership",
    ),
    "ProtocolSupported": (
        "Rebalance",
        "!.isNew = FALSE, !.idKnown",
        "!.isNew = FALSE, !.protocols = <<>>, !.idKnown",
        "metadata",
    ),
    "ProtocolVoted": (
        "Rebalance",
        "!.isNew = FALSE, !.idKnown",
        "!.isNew = FALSE, !.protocols = <<>>, !.idKnown",
        "metadata",
    ),
    "WaitingDoesNotExpire": (
        "Rebalance",
        "!.sessionLeft = IF s.group.members[n].isNew THEN @ ELSE Stopped",
        "!.sessionLeft = @",
        "membership",
    ),
}


def test_the_specification_defines_each_invariant() -> None:
    text = tla.SPECIFICATION.read_text(encoding="utf-8")
    assert [name for name in tla.NAMES if not re.search(f"^{name} *==", text, re.MULTILINE)] == []


def test_each_invariant_is_checked_but_where_a_version_is_known_to_break_it() -> None:
    for name, case in cases().items():
        version = name.partition(" ")[0]
        kept = tla.NAMES.keys() - {broken for profile, broken in BROKEN if profile == version}
        for text in case.texts:
            assert set(text.partition(tla.LIST)[2].split()) == kept


def test_each_invariant_is_broken_by_a_version_or_by_an_edit() -> None:
    assert {name for _, name in BROKEN} | EDITS.keys() == tla.NAMES.keys()
    known = {
        (version, name)
        for version, profile in PROFILES.items()
        for name, prop in tla.NAMES.items()
        if known_violations(profile, prop)
    }
    assert known == BROKEN.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "name", "instance"), [(*which, instance) for which, instance in BROKEN.items()]
)
def test_tlc_and_python_find_a_violation_after_as_few_steps(
    version: str, name: str, instance: str, tmp_path: Path
) -> None:
    modelled = instances(PROFILES[version], 2)[instance]
    found = {each.property: each for each in violations(whole(modelled))}
    steps = len(found[tla.NAMES[name]].path)
    assert tla.counterexample(tla.config(instance, modelled), name, tmp_path) == steps


@pytest.mark.slow
@pytest.mark.parametrize("name", EDITS)
def test_tlc_finds_an_edit_that_breaks_an_invariant(name: str, tmp_path: Path) -> None:
    module, old, new, instance = EDITS[name]
    edited = tmp_path / "edited"
    edited.mkdir()
    for each in tla.FOLDER.glob("*.tla"):
        text = each.read_text(encoding="utf-8")
        if each.stem == module:
            assert text.count(old) == 1
            text = text.replace(old, new)
        (edited / each.name).write_text(text, encoding="utf-8")
    text = tla.config(instance, instances(PROFILES["2.7"], 2)[instance])
    specification = edited / tla.SPECIFICATION.name
    assert tla.counterexample(text, name, tmp_path, specification) > 0
