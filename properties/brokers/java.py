"""Java, and the jars of Apache Kafka from Maven Central."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from groupcheck.cache import cache_folder
from groupcheck.properties.brokers.cache import cached, do, output, unusable

POM: Final = Path(__file__).with_name("pom.xml")
LOGGING: Final = Path(__file__).with_name("log4j.properties")
VERSION: Final = r'version "(?:1\.)?(\d+)'  # the major one
COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

# A small heap and the quick compiler only: a broker runs for a minute or two.
SMALL: Final = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
QUIET: Final = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    f"-Dlog4j.configuration={LOGGING.as_uri()}",
)


def java() -> str | None:
    """Return the Java of JAVA_HOME, else that of PATH."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")


def major(program: str) -> int:
    """Return the major version of a Java; 0 if it does not run."""
    found = re.search(VERSION, output(program, "-version"))
    return int(found[1]) if found else 0


def missing(version: str, oldest_java: int) -> str | None:
    """Return what this machine lacks to run the broker of a version; None if nothing."""
    problem = unusable(java(), "Java", "-version", VERSION, (oldest_java,))
    if problem is not None:
        return problem
    if not (cache_folder() / _name(version)).is_dir() and shutil.which("mvn") is None:
        return "mvn is not on this machine, and the jars are not in the cache"
    return None


def jars(version: str, scala: str, report: Callable[[str], None]) -> Path:
    """Return the folder with all jars of a version, built for Scala; downloads them once.

    Raises:
        PortUnavailableError: the download failed.
    """
    title = f"Apache Kafka {version}"
    options = ("--activate-profiles", scala, f"-Dkafka={version}", "-DincludeScope=runtime")

    def download(folder: Path) -> None:
        report(f"downloading {title} with mvn into {cache_folder()}")
        copy_jars(POM, folder, title, *options)

    return cached(_name(version), download)


def copy_jars(pom: Path, folder: Path, title: str, *options: str) -> None:
    """Download the dependencies of a pom to a folder; raises as `jars` does."""
    how = ["--batch-mode", "--quiet", "--file", str(pom), *options]
    output = f"-DoutputDirectory={folder}"
    do(["mvn", *how, COPY, output], f"{title} cannot be downloaded")


def command(version: str, scala: str, main: str, *arguments: str) -> list[str]:
    """Return the command that runs a class from the jars of a version."""
    folder = jars(version, scala, lambda _: None)
    return [java() or "java", *SMALL, *QUIET, "-cp", f"{folder}/*", main, *arguments]


def _name(version: str) -> str:
    return f"kafka-{version}-{hashlib.sha256(POM.read_bytes()).hexdigest()[:12]}"
