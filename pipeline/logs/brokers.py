"""Which broker coordinates a group, as its lines say; two at once are a contradiction."""

from __future__ import annotations

from typing import Any, NamedTuple

from groupcheck.pipeline.logs.lines import BACK_MS

Row = dict[str, Any]
LETS_GO = frozenset({"unloading", "starting", "stopping"})


class Moved(NamedTuple):
    """Where the group is now.

    `elsewhere` says that the line is of a broker that has it no longer, `lost` that another one had
    it until now, and `anew` that nothing is known of how it came here.
    """

    elsewhere: bool = False
    lost: bool = False
    anew: bool = False
    contradiction: str = ""


HERE = Moved()


class Brokers:
    """The brokers of one group, in the order of its lines."""

    def __init__(self) -> None:
        self._cluster: str | None = None
        self._at: int | None = None
        self._holding: set[int] = set()  # those that have not let go of it
        self._seen: set[int] = set()
        self._files: dict[int, str] = {}  # the file of each, now
        self._left: dict[tuple[int, str], int] = {}  # when a file was written to last
        self._texts: tuple[int, set[str]] = (0, set())

    def opened(self, header: Row) -> str | None:
        """What is against the files being of one cluster, if anything."""
        cluster = header.get("cluster")
        if cluster is None:
            return None
        if self._cluster not in {None, cluster}:
            return f"logs of two clusters, {self._cluster} and {cluster}"
        self._cluster = cluster
        return None

    def has_said(self, said: Row, at_ms: int) -> bool:
        """Whether the very line was there already, in this millisecond."""
        if self._texts[0] != at_ms:
            self._texts = at_ms, set()
        again = said["text"] in self._texts[1]
        self._texts[1].add(said["text"])
        return again

    def moved(self, said: Row, at_ms: int) -> Moved:
        """Where the group is by this line."""
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
        return Moved(lost=known, anew=not known)

    def _alternates(self, broker: int, file: str, at_ms: int) -> bool:
        """Whether a file goes on that another of the same broker has followed."""
        now = self._files.get(broker)
        if now != file:
            if now is not None:
                self._left[broker, now] = at_ms
            self._files[broker] = file
        left_ms = self._left.get((broker, file))
        return left_ms is not None and at_ms > left_ms + BACK_MS
