"""TLC on the PlusCal text and the explorer on its transcription find the same states.

What TLC finds of each instance is on record (`support/tlc_record.py`), and the explorer is held
equal to that; that the record is what TLC says of the text as it is, is tried on the small ones.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from groupcheck.model.exploring.explorer import Space, explore
from groupcheck.model.exploring.figures import figures
from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.instance import spaces
from support import tla, tlc_record
from support.economy import slow_if
from support.tla_as_model import answered
from support.tlc_record import STALE, cases, checked, digest, recorded

pytestmark = pytest.mark.untraced

CASES, ROWS = cases(), recorded()

LARGE = 500  # states
THREE_GENERATIONS = "2.7 metadata, three generations"


@cache
def _small() -> list[str]:
    """Of each profile the smallest space that is not the one of an earlier profile."""
    found: dict[str, str] = {}
    for profile in PROFILES:
        named = {name: name.partition(" ")[2] for name in ROWS if name.startswith(f"{profile} ")}
        others = [name for name, space in named.items() if space not in found]
        smallest = sorted(others, key=lambda name: (ROWS[name].distinct, name))[:1]
        found |= {named[name]: name for name in smallest}
    return list(found.values())


def _large(name: str) -> bool:
    return name not in ROWS or ROWS[name].distinct > LARGE


@pytest.fixture(scope="module", params=slow_if(_large, CASES))
def case(request: pytest.FixtureRequest) -> tuple[str, Space]:
    name = request.param
    assert name in ROWS, STALE
    return name, explore(CASES[name].instance, symmetry=False)


def test_the_translation_in_the_specification_is_that_of_its_pluscal(tmp_path: Path) -> None:
    assert tla.translated(tmp_path) == tla.SPECIFICATION.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", spaces(PROFILES["2.7"], 2))
def test_the_cfg_of_each_space_is_that_of_its_instance(name: str) -> None:
    text = (tla.ROOM / f"{name}.cfg").read_text(encoding="utf-8")
    assert text == tla.config(name, spaces(PROFILES["2.7"], 2)[name])


def test_what_tlc_found_is_on_record_for_each_instance_and_for_the_text_as_it_is() -> None:
    assert list(ROWS) == list(CASES), STALE
    changed = [name for name, case in CASES.items() if ROWS[name].key != case.key]
    assert not changed, STALE


@pytest.mark.slow
@pytest.mark.parametrize("name", _small())
def test_what_is_on_record_is_what_tlc_says(name: str, tmp_path: Path) -> None:
    assert checked(CASES[name], tmp_path) == ROWS[name]


def test_the_record_knows_any_change_of_the_text_and_of_the_configuration(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for file in (*tla.ROOM.glob("*.tla"), *tla.ROOM.glob("*.cfg")):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    case = CASES["2.7 metadata"]
    monkeypatch.setattr(tla, "ROOM", tmp_path)
    assert case.key == ROWS["2.7 metadata"].key
    keys = {case.key, case._replace(instance=case.instance._replace(generations=2)).key}
    for file in (*tmp_path.glob("*.tla"), tmp_path / "metadata.cfg"):
        kept = file.read_text(encoding="utf-8")
        file.write_text(f"{kept}\n", encoding="utf-8")
        keys.add(case.key)
        file.write_text(kept, encoding="utf-8")
    assert len(keys) == 3 + len(list(tmp_path.glob("*.tla")))
    assert case.key == ROWS["2.7 metadata"].key


def test_a_digest_is_that_of_a_set_whatever_the_order_and_of_no_other() -> None:
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


def test_the_record_is_read_as_it_was_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = tlc_record.FILE.read_text(encoding="utf-8")
    monkeypatch.setattr(tlc_record, "FILE", tmp_path / "tlc.tsv")
    assert recorded() == {}
    tlc_record.write(ROWS)
    assert tlc_record.FILE.read_text(encoding="utf-8") == text


def test_tlc_and_the_explorer_find_the_same_states_by_the_same_actions(
    case: tuple[str, Space],
) -> None:
    name, explored = case
    row, counted = ROWS[name], figures(explored)
    assert row.distinct == counted.states
    assert row.generated == counted.generated
    assert row.depth == counted.depth + 1  # TLC counts states instead of steps
    assert row.actions == counted.actions
    # The others depend on the order in which a state's successors are looked at.
    assert row.out_degree == (round(counted.discovered.mean), counted.discovered.least)
    if not CASES[name].counted:
        assert row.states == digest(explored.nodes)


UNCOUNTED = [name for name, case in CASES.items() if not case.counted]


@pytest.mark.parametrize("case", slow_if(_large, UNCOUNTED), indirect=True)
def test_tlc_and_the_explorer_give_the_same_answers_on_the_way_to_each_state(
    case: tuple[str, Space],
) -> None:
    name, explored = case
    found = answered(explored)
    assert ROWS[name].answered == len(found)
    assert ROWS[name].answers == digest(found)


@pytest.mark.slow
def test_with_more_distinct_generations_states_of_each_are_found() -> None:
    nodes = explore(CASES[THREE_GENERATIONS].instance, symmetry=False).nodes
    assert {node.group.generation_id for node in nodes if node.group} == {0, 1, 2, 3}
