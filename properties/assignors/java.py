"""The assignors of Apache Kafka: a small program in Java that runs them, compiled once."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from groupcheck.cache import cache_folder
from groupcheck.properties.brokers import java
from groupcheck.properties.brokers.cache import cached, do

FOLDER: Final = Path(__file__).with_name("java_main")
POM: Final = FOLDER / "pom.xml"
CLIENT: Final = FOLDER / "Assign.java"
BROKER: Final = FOLDER / "Broker.java"

OLDEST_JAVA: Final = 17  # the compiler's
SCALA: Final = "2.13"

# Kafka warns of groups that are only found in tests, and whose assignment is verified anyway.
SILENT: Final = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"


def missing(version: str) -> str | None:
    """Return what this machine lacks to run the assignors of a version; None if nothing."""
    problem = java.missing(version, OLDEST_JAVA)
    if problem is not None:
        return problem
    compiled_port = cache_folder() / _name(_sources(version), version)
    if not compiled_port.is_dir() and shutil.which("mvn") is None:
        return "mvn is not on this machine, and the compiled port is not in the cache"
    return None


def command(version: str, report: Callable[[str], None]) -> list[str]:
    """Return the command that runs the port; downloads and compiles it once.

    Raises:
        PortUnavailableError: something cannot be downloaded or compiled.
    """
    sources = _sources(version)
    path = compiled(sources, version, report)
    return [java.java() or "java", *java.SMALL, SILENT, "-cp", path, sources[-1].stem]


def compiled(sources: Sequence[Path], version: str, report: Callable[[str], None]) -> str:
    """Return the class path of a program, compiled once with the jars of a version of Kafka.

    Raises:
        PortUnavailableError: something cannot be downloaded or compiled.
    """
    jars = java.jars(version, SCALA, report)
    names = ", ".join(path.name for path in sources)

    def compile_sources(folder: Path) -> None:
        report(f"compiling {names} for Apache Kafka {version} into {cache_folder()}")
        compiler = folder.with_name("compiler")
        java.copy_jars(POM, compiler, "the Eclipse compiler for Java")
        (jar,) = compiler.glob("ecj-*.jar")
        # It does not know the * of Java's class path.
        classes = os.pathsep.join(sorted(map(str, jars.glob("*.jar"))))
        options = [f"-{OLDEST_JAVA}", "-nowarn", "-proc:none", "-cp", classes, "-d", str(folder)]
        argv = [java.java() or "java", "-jar", str(jar), *options, *map(str, sources)]
        do(argv, f"{names} cannot be compiled")

    folder = cached(_name(sources, version), compile_sources)
    return os.pathsep.join((str(folder), f"{jars}/*"))


def _sources(version: str) -> list[Path]:
    # The coordinator of Kafka 2.7 has no assignors; that of 3.9 has the same interface as 4.1.
    return [CLIENT] if version.startswith("2.") else [CLIENT, BROKER]


def _name(sources: Sequence[Path], version: str) -> str:
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in (POM, *sources)))
    return f"assignors-{version}-{digest.hexdigest()[:12]}"
