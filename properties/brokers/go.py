"""Programs of this package in Go, each of which is built once into the cache."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from groupcheck.cache import cache_folder
from groupcheck.properties.brokers.cache import cached, do, unusable

SOURCES: Final = ("go.mod", "go.sum", "main.go")
OLDEST_GO: Final = (1, 26)  # of each go.mod


class GoProgram(NamedTuple):
    """A program: its name, and the folder of its sources."""

    name: str
    folder: Path

    def missing(self) -> str | None:
        """Why it can neither be built nor is in the cache; None if it can run."""
        if (cache_folder() / self._cache_name()).is_dir():
            return None
        return unusable(shutil.which("go"), "Go", "version", r"go(\d+)\.(\d+)", OLDEST_GO)

    def built(self, report: Callable[[str], None]) -> Path:
        """Return its path; builds it once.

        Raises:
            PortUnavailableError: it cannot be built, or the cache is not writable.
        """

        def build(folder: Path) -> None:
            report(f"building {self.name} with go into {cache_folder()}")
            source = folder.with_name("source")
            source.mkdir()
            for path in self._sources():
                shutil.copy(path, source)
            folder.mkdir()
            argv = ["go", "build", "-buildvcs=false", "-o", str(folder / self.name), "."]
            do(argv, f"{self.name} cannot be built", source)

        return cached(self._cache_name(), build) / self.name

    def _sources(self) -> list[Path]:
        return [self.folder / name for name in SOURCES]

    def _cache_name(self) -> str:
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in self._sources()))
        return f"{self.name}-{digest.hexdigest()[:12]}"
