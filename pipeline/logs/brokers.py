"""The broker that coordinates a group, by its log lines; two at the same time are an error."""

from __future__ import annotations

from typing import Any, NamedTuple

from groupcheck.pipeline.logs.lines import BACK_MS

Row = dict[str, Any]
UNLOADS = frozenset({"unloading", "starting", "stopping"})


class Coordinated(NamedTuple):
    """The change of the coordinating broker by a line.

    Args:
        obsolete: the line is from a broker that no longer coordinates the group.
        moved: another broker has coordinated the group until now.
        unknown: the line does not reveal how the group moved to its broker.
        error: the reason why the lines contradict each other.

    """

    obsolete: bool = False
    moved: bool = False
    unknown: bool = False
    error: str = ""


SAME_BROKER = Coordinated()


class Brokers:
    """The brokers of one group, in the order of its lines."""

    def __init__(self) -> None:
        self._cluster: str | None = None
        self._current: int | None = None
        self._loaded: set[int] = set()  # brokers that have not unloaded it
        self._seen: set[int] = set()
        self._files: dict[int, str] = {}  # the current file of each
        self._ended: dict[tuple[int, str], int] = {}  # by broker and file: its last line
        self._texts: tuple[int, set[str]] = (0, set())

    def opened(self, header: Row) -> str | None:
        """The reason why the files are not of one cluster, if so."""
        cluster = header.get("cluster")
        if cluster is None:
            return None
        if self._cluster not in {None, cluster}:
            return f"logs of two clusters, {self._cluster} and {cluster}"
        self._cluster = cluster
        return None

    def is_repeated(self, line: Row, at_ms: int) -> bool:
        """Whether there was the same line in this millisecond."""
        if self._texts[0] != at_ms:
            self._texts = at_ms, set()
        repeated = line["text"] in self._texts[1]
        self._texts[1].add(line["text"])
        return repeated

    def take(self, line: Row, at_ms: int) -> Coordinated:
        """The broker of the group by this line."""
        broker, event = line.get("broker"), line["what"]
        if broker is None:
            return SAME_BROKER
        if self._alternates(broker, line["file"], at_ms):
            error = "two logs of one broker at the same time: of two clusters, or one log twice"
            return Coordinated(error=error)
        was_loaded, was_seen = broker in self._loaded, broker in self._seen
        if event in UNLOADS:
            self._loaded.discard(broker)
            if self._current not in {None, broker}:
                return Coordinated(obsolete=True)
        else:
            self._loaded.add(broker)
        self._seen.add(broker)
        previous, self._current = self._current, broker
        if previous in {None, broker}:
            return SAME_BROKER
        if was_loaded and event != "loaded":
            error = f"brokers {previous} and {broker} coordinate it at the same time"
            return Coordinated(error=error)
        known = was_seen or event == "loaded"
        return Coordinated(moved=known, unknown=not known)

    def _alternates(self, broker: int, file: str, at_ms: int) -> bool:
        """Whether the file continues another file of the same broker."""
        current = self._files.get(broker)
        if current != file:
            if current is not None:
                self._ended[broker, current] = at_ms
            self._files[broker] = file
        ended_ms = self._ended.get((broker, file))
        return ended_ms is not None and at_ms > ended_ms + BACK_MS
