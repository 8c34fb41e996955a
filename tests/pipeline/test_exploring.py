"""Exploring on Spark: the results of one process, resumed runs, and folders that do not match."""

from __future__ import annotations

import json
import subprocess
import sys
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.cli import main
from groupcheck.model.classic.exploring.exploration import Settings, run
from groupcheck.model.classic.exploring.fingerprint import KEY_BYTES, digest, key, written
from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.exploration import TooManyStatesError, explore
from groupcheck.model.engine.lasso import MarkedStep
from groupcheck.model.engine.statistics import statistics
from groupcheck.properties.temporal import liveness
from groupcheck.properties.temporal.counterexamples import (
    PROPERTIES,
    Counterexample,
    counterexamples,
)
from groupcheck.properties.temporal.liveness import TICK, allowances, marks, shortest_cycle
from groupcheck.reports.record_file import read
from support.needs import needs_packages

needs_packages("pandas", "pyarrow", "pyspark", "scipy")

import pyarrow as pa  # noqa: E402

from groupcheck.pipeline.exploring import breadth_first as exploring  # noqa: E402
from groupcheck.pipeline.exploring import cycles, levels  # noqa: E402
from groupcheck.pipeline.exploring.expansion import UNFINISHED  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NODE_COUNT = 5
NODES = st.integers(0, NODE_COUNT - 1)


def _by_name(broken: list[Counterexample]) -> list[Counterexample]:
    return sorted(broken, key=lambda each: each.property.name)


@pytest.mark.parametrize(
    "settings",
    [
        # Instances with properties that Kafka violates.
        Settings(PROFILES["0.10.0"], 2, ("expiry",), witness="cleanup/expired"),
        Settings(PROFILES["0.10.2"], 1, ("membership",), witness="heartbeat/alive"),
        Settings(PROFILES["2.7"], 1, ("metadata",), generations=2),
        Settings(PROFILES["4.1"], 1, features=frozenset({Feature.OFFSETS})),
        # Instances in which a cycle has to have a state without held appends.
        Settings(PROFILES["2.7"], 2, features=frozenset({Feature.TIME, Feature.HELD_APPENDS})),
    ],
    ids=lambda settings: settings.profile.name,
)
def test_spark_finds_everything_that_the_explorer_in_one_process_finds(
    settings: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    broken: list[Counterexample] = []
    expected = run(
        settings,
        lambda *_: lambda _: None,
        lambda name, each: broken.extend(counterexamples(name, each)),
    )
    found = exploring.explore(spark, settings, str(tmp_path))
    (one,), (other,) = expected.spaces, found.exploration.spaces
    assert other.statistics == one.statistics
    assert other.digest == one.digest
    assert other.longest_witness == one.longest_witness
    assert other.group_graph == one.group_graph
    assert found.exploration.witness == expected.witness
    assert _by_name(found.violations[one.name]) == _by_name(broken)


class _Pending(NamedTuple):
    """A step that does not fulfil an obligation, with the known violations that cover it."""

    here: int
    there: int
    tick: bool
    covers: tuple[int, ...]


@given(
    st.lists(st.builds(_Pending, NODES, NODES, st.booleans(), st.sampled_from([(), (0,), (1,)]))),
    st.frozensets(NODES),
)
def test_cycles_of_numbers_equal_cycles_of_records(
    unfinished: list[_Pending], held: frozenset[int]
) -> None:
    prop = next(prop for prop in liveness.PROPERTIES if prop.name == "silent-members-removed")
    unfinished = sorted(dict.fromkeys(unfinished), key=attrgetter("here"))
    expected = []
    for why in allowances(PROFILES["2.7"], prop):
        steps = (
            MarkedStep(each.here, each.there, marks(tick=each.tick, holding=each.here in held))
            for each in unfinished
            if not each.covers or why in each.covers
        )
        cycle = shortest_cycle(steps, lambda node: node)
        if cycle is not None:
            expected = [(why, step.here, TICK in step.marks) for step in cycle]
            break
    ends = [node.to_bytes(KEY_BYTES, "big") + b"m1" for node in range(NODE_COUNT)]
    rows = [
        {
            "property": prop.name,
            "covers": sum(1 << place for place in each.covers),
            "depth": each.here,
            "id": 7 * each.here,
            "nth": nth,
            "here": ends[each.here],
            "there": ends[each.there],
            "tick": each.tick,
            "holding": each.here in held,
        }
        for nth, each in enumerate(unfinished)
    ]
    found = cycles._cycle("2.7", pa.Table.from_pylist(rows, UNFINISHED)) if rows else None
    rows_of_cycle = found.to_pylist() if found else []
    assert [(edge["violation"], edge["depth"], edge["tick"]) for edge in rows_of_cycle] == expected
    assert all(edge["id"] == 7 * edge["depth"] and edge["owner"] == "m1" for edge in rows_of_cycle)


@pytest.mark.slow
def test_an_instance_too_large_for_one_process_is_explored_on_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    command = ["explore", "--instance", "static", "--members", "3", "--max-memory", "64m"]
    run = subprocess.run(
        [sys.executable, "-m", "groupcheck", *command], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert "64 MiB of memory ran out exploring static, at " in run.stderr
    settings = Settings(PROFILES["2.7"], 3, ("static",))
    (found,) = exploring.explore(spark, settings, str(tmp_path)).exploration.spaces
    space = explore(found.instance)
    assert found.statistics == statistics(space)
    assert found.digest == digest(key(written(node)) for node in space.nodes)


def test_an_interrupted_run_continues_after_the_last_complete_level(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(PROFILES["0.10.0"], 1, ("membership",))
    complete = exploring.explore(spark, settings, str(tmp_path / "complete"))
    with pytest.raises(TooManyStatesError, match="membership has more than 4 states"):
        exploring.explore(spark, settings._replace(most_states=4), str(tmp_path / "work"))
    done = sorted(path.name for path in (tmp_path / "work" / "membership").glob("level-*"))
    # Killed while it wrote the next level: the rows exist, the marker does not.
    half = tmp_path / "work" / "membership" / f"level-{len(done):04}"
    half.mkdir()
    (half / "part-0.parquet").write_bytes(b"PAR1")
    written: list[str] = []
    write = exploring._write

    def noted(rows: Any, of: Any) -> None:
        written.append(of.next_uri)
        write(rows, of)

    monkeypatch.setattr(exploring, "_write", noted)
    again = exploring.explore(spark, settings, str(tmp_path / "work"))
    assert not any(uri.endswith(name) for uri in written for name in done)
    (one,), (other,) = complete.exploration.spaces, again.exploration.spaces
    assert other._replace(seconds=0) == one._replace(seconds=0)
    # Also the results of earlier levels: some of these are temporal properties.
    assert again.violations == complete.violations
    assert any(each.cycle for each in again.violations["membership"])


@pytest.mark.usefixtures("spark")
def test_another_instance_or_model_in_the_folder_is_rejected_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["explore", "--engine", "spark", "--profile", "0.10.0", "--instance", "metadata"]
    command += ["--work", str(tmp_path), "--max-states", "1"]
    assert main([*command, "--members", "1"]) == 2
    assert capsys.readouterr().err == "groupcheck: the instance metadata has more than 1 states\n"
    assert main(command) == 2
    line = capsys.readouterr().err
    assert "has metadata of 0.10.0, members: 1: another folder is needed for" in line
    monkeypatch.setattr(levels, "source_digest", lambda *_packages: "another")
    assert main([*command, "--members", "1"]) == 2
    assert "has the same instance of another model: " in capsys.readouterr().err
    (tmp_path / "metadata" / "_groupcheck.json").unlink()
    assert main(command) == 2
    assert "is not a folder of explored levels" in capsys.readouterr().err


@pytest.mark.usefixtures("spark")
def test_the_command_prints_its_results_and_what_it_did_not_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["explore", "--profile", "0.10.0", "--members", "1", "--instance", "metadata"]
    saved = tmp_path / "saved.json"
    assert main([*command, "--engine", "spark", "--save", str(saved)]) == 0
    printed = capsys.readouterr().out
    assert "\n".join(read(saved).lines) + "\n" == printed
    assert "properties 75 of 78 hold" in printed
    assert "not computed" in printed
    assert main([*command, "--json"]) == 0
    record: dict[str, Any] = json.loads(capsys.readouterr().out)["exploration"]
    assert [each["name"] for each in record["properties"]] == [prop.name for prop in PROPERTIES]
    assert f"metadata {record['instances'][0]['states']} " in " ".join(printed.split())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--work", "x"], "--work, --master and --conf need --engine spark"),
        (
            ["--engine", "spark", "--no-symmetry"],
            "--out and --no-symmetry need the graph in memory",
        ),
        (["--engine", "spark", "--master", "spark://a:1"], "--master needs --work DIR, "),
    ],
)
def test_an_option_that_an_engine_lacks_is_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explore", *arguments]) == 2
    printed = capsys.readouterr().err
    assert complaint in printed
    assert printed.count("\n") == 1
