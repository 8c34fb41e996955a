"""The cache: a value is derived once, and correct whatever happens to the files."""

from __future__ import annotations

import fcntl
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck import cache
from groupcheck.cache import derived, source_digest
from groupcheck.model.classic.instances.instance import Instance, virtual_time_instances
from groupcheck.model.classic.instances.small import small_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.exploration import explore
from groupcheck.properties.explored import space_of

VALUES: Final = st.recursive(
    st.none() | st.integers() | st.text(), lambda each: st.lists(each).map(tuple)
)

# Derives a value in the cache in the folder of its argument, and notes each time.
DERIVES: Final = """
import sys, time
from pathlib import Path
from groupcheck import cache

folder = Path(sys.argv[1])
cache.cache_folder = lambda: folder

def derive():
    with (folder / "times").open("a", encoding="utf-8") as times:
        times.write("once\\n")
    time.sleep(0.3)
    return "value"

print("ready", flush=True)
input()
print(cache.derived("name", derive))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of derived values, which is empty."""
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache" / "derived"


class Counted:
    """Derives a value, and counts how often."""

    def __init__(self, value: object = "value") -> None:
        self.value = value
        self.times = 0

    def __call__(self) -> object:
        self.times += 1
        return self.value


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A package with one module."""
    (tmp_path / "some_package" / "inner").mkdir(parents=True)
    for name in ("__init__.py", "inner/module.py"):
        (tmp_path / "some_package" / name).touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(cache, "source_digest", source_digest.__wrapped__)
    yield import_module("some_package")
    del sys.modules["some_package"]


@settings(max_examples=20, deadline=None)
@given(values=st.dictionaries(st.text(), VALUES, max_size=4))
def test_values_of_different_names_are_derived_once_each(values: dict[str, Any]) -> None:
    unique = {f"{name} {os.urandom(8).hex()}": value for name, value in values.items()}
    derivations = {name: Counted(value) for name, value in unique.items()}
    for _ in range(3):
        assert {name: derived(name, each) for name, each in derivations.items()} == unique
    assert all(each.times == 1 for each in derivations.values())


def test_an_interrupted_write_is_derived_again_and_repaired(folder: Path) -> None:
    derive = Counted(("a value", 1_000_000, None))
    derived("name", derive)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        assert [derived("name", derive) for _ in range(2)] == [derive.value] * 2
        assert derive.times == length + 2
        assert file.read_bytes() == whole


@pytest.mark.parametrize("damage", [b"\xff", b"garbage", b"cno_such_module\nname\n."])
def test_an_entry_that_cannot_be_read_is_derived_again(folder: Path, damage: bytes) -> None:
    derived("name", Counted())
    (file,) = folder.iterdir()
    file.write_bytes(damage)
    assert derived("name", Counted()) == "value"
    assert derived("name", Counted("not derived")) == "value"


def test_without_a_folder_a_value_is_derived_each_time(folder: Path) -> None:
    folder.parent.touch()
    derive = Counted()
    assert [derived("name", derive) for _ in range(2)] == ["value"] * 2
    assert derive.times == 2


def test_a_value_that_cannot_be_written_is_derived_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pickle, "dump", full)
    derive = Counted()
    assert [derived("name", derive) for _ in range(2)] == ["value"] * 2
    assert derive.times == 2


def test_a_changed_source_file_makes_another_value(package: ModuleType) -> None:
    (path,) = package.__path__
    assert derived("name", Counted("old"), package) == "old"
    Path(path, "inner", "module.py").write_text("rule = 1", encoding="utf-8")
    assert derived("name", Counted("new"), package) == "new"
    Path(path, "inner", "module.py").write_text("", encoding="utf-8")
    assert derived("name", Counted("not derived"), package) == "old"


def test_a_value_is_not_kept_if_the_source_changes_meanwhile(package: ModuleType) -> None:
    (path,) = package.__path__

    def derive() -> str:
        Path(path, "inner", "module.py").write_text(str(time.time_ns()), encoding="utf-8")
        return "of the old source"

    derived("name", derive, package)
    assert derived("name", Counted("new"), package) == "new"


def test_a_value_is_not_kept_if_the_source_is_not_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zipped = ModuleType("zipped")
    zipped.__path__ = [str(tmp_path / "groupcheck.zip" / "zipped")]
    monkeypatch.setattr(cache, "model", zipped)
    derive = Counted()
    assert [derived("name", derive, zipped) for _ in range(2)] == ["value"] * 2
    assert derive.times == 2


@pytest.fixture
def deriving(tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Three processes that each derive the same value after they have read a line."""
    command = [sys.executable, "-c", DERIVES, str(tmp_path)]
    pipe = subprocess.PIPE
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=pipe)
            )
            for _ in range(3)
        ]


def test_processes_that_need_a_value_at_once_derive_it_once(
    deriving: list[subprocess.Popen[str]], tmp_path: Path
) -> None:
    ready = [each.stdout.readline() for each in deriving if each.stdout]
    for each in deriving:
        if each.stdin:
            each.stdin.write("\n")
            each.stdin.flush()
    ended = [(*each.communicate(), each.returncode) for each in deriving]
    assert (ready, ended) == (["ready\n"] * 3, [("value\n", "", 0)] * 3)
    assert (tmp_path / "times").read_text(encoding="utf-8") == "once\n"


def test_a_process_waits_only_so_long_for_another_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "WAIT_S", 0.1)
    derived("name", Counted())
    (file,) = folder.iterdir()
    with file.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert derived("name", Counted("derived again")) == "derived again"
    assert derived("name", Counted("not derived")) == "value"


def test_values_that_were_not_read_for_longest_are_deleted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "MOST_BYTES", 3_500)
    for name in "abc":
        derived(name, Counted(name * 1_000))
        for each in folder.iterdir():  # as if an hour had passed
            hour_ago = each.stat().st_mtime - 3_600
            os.utime(each, (hour_ago, hour_ago))
    derived("a", Counted())  # reading makes it the most recently used
    derived("d", Counted("d" * 1_000))
    assert len(list(folder.iterdir())) == 3
    again = {name: Counted() for name in "dacb"}
    for name, derive in again.items():
        derived(name, derive)
    assert [name for name, each in again.items() if each.times] == ["b"]


@pytest.mark.parametrize("version", PROFILES)
def test_a_state_space_is_the_same_when_it_is_read(version: str) -> None:
    for instance in virtual_time_instances(PROFILES[version], 1).values():
        space = explore(instance)
        for _ in range(2):
            states: list[int] = []
            assert space_of(instance, states.append) == space
            assert sum(states) == len(space.nodes)


def test_instances_of_two_classes_with_equal_fields_have_different_texts() -> None:
    loners = small_instances(PROFILES["2.7"], 1)["loners"]
    other = Instance(*loners)
    assert other == loners
    assert other.text != loners.text
