"""kfake, the fake cluster of franz-go, in a small program that is built once."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Final

from groupcheck.cache import cache_folder
from groupcheck.model.classic.instances.inputs import TOPIC
from groupcheck.properties.brokers.cache import cached, do, unusable
from groupcheck.properties.brokers.definition import (
    SETTINGS,
    Address,
    BrokerDefinition,
    wait_for_address,
)
from groupcheck.properties.brokers.supervised import Supervised

SOURCES: Final = tuple(
    Path(__file__).with_name("kfake_main") / name for name in ("go.mod", "go.sum", "main.go")
)
OLDEST_GO: Final = (1, 26)  # of its go.mod

DELAY: Final = "group.initial.rebalance.delay.ms"  # kfake has no initial delay and reports none
SESSIONS: Final = ("group.min.session.timeout.ms", "group.max.session.timeout.ms")


def definition() -> BrokerDefinition:
    """Return its definition."""
    return BrokerDefinition(
        "kfake",
        "franz-go's kfake",
        "4.1",
        f"Go {'.'.join(map(str, OLDEST_GO))} or later, to build it once",
        missing=_missing,
        prepare=_built,
        launch=_launch,
        settings={name: SETTINGS[name] for name in (*SESSIONS, "group.max.size")},
        unreported={DELAY: 0},
    )


def _launch(programs: Supervised, settings: Mapping[str, int], interrupted: Event) -> Address:
    arguments = [f"{name}={value}" for name, value in settings.items()]
    # It creates topics only if the request allows it, which not every version can express.
    programs.start("kfake", [str(_built(lambda _: None)), TOPIC, *arguments])
    return wait_for_address(programs, "kfake", "listening on", interrupted)


def _name() -> str:
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES))
    return f"kfake-{digest.hexdigest()[:12]}"


def _built(report: Callable[[str], None]) -> Path:
    """Return the program's path; builds it once."""

    def build(folder: Path) -> None:
        report(f"building kfake with go into {cache_folder()}")
        source = folder.with_name("source")
        source.mkdir()
        for path in SOURCES:
            shutil.copy(path, source)
        folder.mkdir()
        output = str(folder / "kfake")
        do(["go", "build", "-buildvcs=false", "-o", output, "."], "kfake cannot be built", source)

    return cached(_name(), build) / "kfake"


def _missing() -> str | None:
    if (cache_folder() / _name()).is_dir():
        return None
    return unusable(shutil.which("go"), "Go", "version", r"go(\d+)\.(\d+)", OLDEST_GO)
