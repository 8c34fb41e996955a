"""kfake, the fake cluster of franz-go, run by a small program that is built here once."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from threading import Event
from typing import Final

from groupcheck.model.spaces.clients import TOPIC
from groupcheck.properties.brokers.cache import answer, cache_folder, cached, do
from groupcheck.properties.brokers.kept import Kept
from groupcheck.properties.brokers.recipe import SETTINGS, Address, Recipe, said_address

SOURCES: Final = tuple(
    Path(__file__).with_name("kfake_main") / name for name in ("go.mod", "go.sum", "main.go")
)
OLDEST_GO: Final = (1, 26)  # of its go.mod

DELAY: Final = "group.initial.rebalance.delay.ms"  # it has none, and does not say so
SESSIONS: Final = ("group.min.session.timeout.ms", "group.max.session.timeout.ms")


def recipe() -> Recipe:
    """How it is brought up."""
    return Recipe(
        "kfake",
        "franz-go's kfake",
        "4.1",
        f"Go {'.'.join(map(str, OLDEST_GO))} or later, to build it once",
        missing=_missing,
        prepare=_built,
        launch=_launch,
        settings={name: SETTINGS[name] for name in (*SESSIONS, "group.max.size")},
        untold={DELAY: 0},
    )


def _launch(kept: Kept, settings: Mapping[str, int], interrupted: Event) -> Address:
    said = [f"{name}={value}" for name, value in settings.items()]
    # It makes topics only for who says that it may, which not every version can say.
    kept.start("kfake", [str(_built(lambda _: None)), TOPIC, *said])
    return said_address(kept, "kfake", "listening on", interrupted)


def _name() -> str:
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES))
    return f"kfake-{digest.hexdigest()[:12]}"


def _built(tell: Callable[[str], None]) -> Path:
    """The program, built if it is not kept yet."""

    def build(folder: Path) -> None:
        tell(f"building kfake with go, which is kept in {cache_folder()}")
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
    program = shutil.which("go")
    if program is None:
        return "go is not on this machine"
    number = _version(program)
    if number is None:
        return f"{program} does not tell its version"
    if number < OLDEST_GO:
        return f"{program} is Go {'.'.join(map(str, number))}"
    return None


@cache
def _version(program: str) -> tuple[int, int] | None:
    found = re.search(r"go(\d+)\.(\d+)", answer(program, "version") or "")
    return (int(found[1]), int(found[2])) if found else None
