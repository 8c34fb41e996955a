"""TLC on the PlusCal specification and the explorer find the same states, responses and rules.

The tests compare the explorer with the record of what TLC finds (`support/tlc_record.py`). For the
small instances they run TLC, to check the record itself.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from groupcheck.model.classic.instances.instance import instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.exploration import explore
from groupcheck.model.engine.statistics import statistics
from support import tla, tla_config, tlc_record
from support.economy import exhaustive_if
from support.tla_as_model import observed
from support.tlc_record import STALE, cases, checked, digest, recorded

pytestmark = pytest.mark.untraced

CASES, ROWS = cases(), recorded()

LARGE = 300  # states
RULE_ID = re.compile(r'"([a-z-]+/[a-z-]+)"')
THREE_GENERATIONS = "2.7 metadata, three generations"


@cache
def _small() -> list[str]:
    """For each version the smallest instance whose features no earlier version has here."""
    found: dict[str, str] = {}
    for profile in PROFILES:
        named = {name: name.partition(" ")[2] for name in ROWS if name.startswith(f"{profile} ")}
        others = [name for name, space in named.items() if space not in found]
        smallest = sorted(others, key=lambda name: (ROWS[name].distinct, name))[:1]
        found |= {named[name]: name for name in smallest}
    return list(found.values())


def _large(name: str) -> bool:
    return name not in ROWS or ROWS[name].distinct > LARGE


def test_the_specification_contains_the_translation_of_its_algorithm(tmp_path: Path) -> None:
    text = tla_config.SPECIFICATION.read_text(encoding="utf-8")
    assert tla.translated(tmp_path, tla_config.SPECIFICATION) == text


def test_the_rules_of_the_specification_are_those_of_the_tables() -> None:
    modules = (module.read_text(encoding="utf-8") for module in tla_config.FOLDER.glob("*.tla"))
    named = {rule for text in modules for rule in RULE_ID.findall(tla.code(text))}
    assert named == {rule for profile in PROFILES.values() for rule in profile.rules}


@pytest.mark.parametrize("name", instances(PROFILES["2.7"], 2))
def test_each_cfg_is_the_configuration_of_its_instance(name: str) -> None:
    text = (tla_config.FOLDER / f"{name}.cfg").read_text(encoding="utf-8")
    assert text == tla_config.config(name, instances(PROFILES["2.7"], 2)[name])


def test_the_record_has_an_up_to_date_row_for_each_instance() -> None:
    assert list(ROWS) == list(CASES), STALE
    changed = [name for name, case in CASES.items() if ROWS[name].key != case.key]
    assert not changed, STALE


@pytest.mark.slow
@pytest.mark.parametrize("name", _small())
def test_tlc_finds_what_the_record_has(name: str, tmp_path: Path) -> None:
    assert checked(CASES[name], tmp_path) == ROWS[name]


def test_a_change_of_the_specification_or_the_configuration_makes_a_row_out_of_date(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for file in (*tla_config.FOLDER.glob("*.tla"), *tla_config.FOLDER.glob("*.cfg")):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    case = CASES["2.7 metadata"]
    monkeypatch.setattr(tla_config, "FOLDER", tmp_path)
    assert case.key == ROWS["2.7 metadata"].key
    keys = {case.key, case._replace(instance=case.instance._replace(generations=2)).key}
    for file in (*tmp_path.glob("*.tla"), tmp_path / "metadata.cfg"):
        kept = file.read_text(encoding="utf-8")
        file.write_text(f"Other == 0\n{kept}", encoding="utf-8")
        keys.add(case.key)
        file.write_text(kept, encoding="utf-8")
    assert len(keys) == 3 + len(list(tmp_path.glob("*.tla")))
    assert case.key == ROWS["2.7 metadata"].key


def test_two_sequences_have_the_same_digest_only_if_they_have_the_same_elements() -> None:
    one, other = (1, frozenset({"b", "a"})), (True, frozenset({"a"}), None)
    assert digest([one, other]) == digest([other, one, other])
    distinct: tuple[list[object], ...] = (
        [],
        [one],
        [other],
        [one, other],
        [(one, other)],
        [("1", frozenset({"a", "b"}))],
    )
    assert len({digest(values) for values in distinct}) == len(distinct)


def test_the_record_is_read_back_unchanged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = tlc_record.FILE.read_text(encoding="utf-8")
    monkeypatch.setattr(tlc_record, "FILE", tmp_path / "tlc.tsv")
    assert recorded() == {}
    tlc_record.write(ROWS)
    assert tlc_record.FILE.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", exhaustive_if(_large, CASES))
def test_tlc_and_the_explorer_find_the_same_states_actions_responses_and_rules(name: str) -> None:
    assert name in ROWS, STALE
    row, explored = ROWS[name], explore(CASES[name].instance, symmetry=False)
    counted = statistics(explored)
    assert row.distinct == counted.states
    assert row.generated == counted.generated
    assert row.depth == counted.depth + 1  # TLC counts states, not steps
    assert row.actions == counted.actions
    # Maximum and percentile depend on the order in which TLC generates successors.
    assert row.out_degree == (round(counted.discovered.mean), counted.discovered.least)
    if not CASES[name].counted:
        assert row.states == digest(explored.nodes)
        found = observed(explored)
        assert row.observed == len(found)
        assert row.observations == digest(found)


@pytest.mark.exhaustive
def test_an_instance_with_three_generations_has_states_of_each() -> None:
    nodes = explore(CASES[THREE_GENERATIONS].instance, symmetry=False).nodes
    assert {node.group.generation_id for node in nodes if node.group} == {0, 1, 2, 3}
