"""The broker that coordinates a group, by its lines; two brokers at a time are a contradiction."""

from __future__ import annotations

from typing import Any, NamedTuple

from groupcheck.pipeline.logs.lines import BACK_MS

Row = dict[str, Any]
LETS_GO = frozenset({"unloading", "starting", "stopping"})


class Moved(NamedTuple):
    """The broker of the group now.

    `elsewhere`: the line is from a broker that no longer coordinates it. `lost`: another broker had
    it until now. `unknown`: how it moved here is not known.
    """

    elsewhere: bool = False
    lost: bool = False
    unknown: bool = False
    contradiction: str = ""


HERE = Moved()


class Brokers:
    """The brokers of one group, in the order of its lines."""

    def __init__(self) -> None:
        self._cluster: str | None = None
        self._at: int | None = None
        self._holding: set[int] = set()  # that have not unloaded it
        self._seen: set[int] = set()
        self._files: dict[int, str] = {}  # the file of each, now
        self._left: dict[tuple[int, str], int] = {}  # when a file was written to last
        self._texts: tuple[int, set[str]] = (0, set())

    def opened(self, header: Row) -> str | None:
        """Why the files cannot be of one cluster, if so."""
        cluster = header.get("cluster")
        if cluster is None:
            return None
        if self._cluster not in {None, cluster}:
            return f"logs of two clusters, {self._cluster} and {cluster}"
        self._cluster = cluster
        return None

    def has_said(self, said: Row, at_ms: int) -> bool:
        """Whether the same line was there already, in this millisecond."""
        if self._texts[0] != at_ms:
            self._texts = at_ms, set()
        again = said["text"] in self._texts[1]
        self._texts[1].add(said["text"])
        return again

    def moved(self, said: Row, at_ms: int) -> Moved:
        """The broker of the group by this line."""
        broker, what = said.get("broker"), said["what"]
        if broker is None:
            return HERE
        if self._alternates(broker, said["file"], at_ms):
            why = "two logs of one broker at the same time: of two clusters, or one log twice"
            return Moved(contradiction=why)
        held, seen = broker in self._holding, broker in self._seen
        if what in LETS_GO:
            self._holding.discard(broker)
            if self._at not in {None, broker}:
                return Moved(elsewhere=True)
        else:
            self._holding.add(broker)
        self._seen.add(broker)
        before, self._at = self._at, broker
        if before in {None, broker}:
            return HERE
        if held and what != "loaded":
            why = f"brokers {before} and {broker} coordinate it at the same time"
            return Moved(contradiction=why)
        known = seen or what == "loaded"
        return Moved(lost=known, unknown=not known)

    def _alternates(self, broker: int, file: str, at_ms: int) -> bool:
        """Whether the file continues another file of the same broker."""
        now = self._files.get(broker)
        if now != file:
            if now is not None:
                self._left[broker, now] = at_ms
            self._files[broker] = file
        left_ms = self._left.get((broker, file))
        return left_ms is not None and at_ms > left_ms + BACK_MS
