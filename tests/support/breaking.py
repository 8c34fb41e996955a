"""Histories of a coordinator that is slow to write, and to which things happen."""

from __future__ import annotations

from typing import Any

from groupcheck.implementation import Coordinator
from groupcheck.implementation.core.groups import Serving
from groupcheck.implementation.log.controlled import ControlledLog
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.model.vocabulary import Response
from support.overlapping import BEHAVIOURS, Line, Overlapping

PARTITIONS = range(50)


class SlowLog(ControlledLog):
    """A log whose held appends can be released one by one."""

    __slots__ = ()

    def release_first(self) -> None:
        """Complete the oldest append, or all of them if the log completes them together."""
        held = self._held or []
        count = len(held) if self._fails_at_once else 1
        due, self._held = held[:count], held[count:]
        for tell in due:
            tell()


class Breaking(Overlapping):
    """Clients of a coordinator to which `happens` happens now and then.

    With `slow` an append takes some steps of the coordinator to complete.
    """

    def __init__(
        self,
        seed: int,
        happens: tuple[str, ...] = ("crash",),
        *,
        slow: bool = False,
        chance: float = 0.1,
        **options: Any,
    ) -> None:
        super().__init__(seed, **options)
        self._happens = happens
        self._slow = slow
        self._chance = chance
        behaviour = BEHAVIOURS[self.profile]
        self._log = SlowLog(
            MemoryLog(),
            excludes_markers=not behaviour.appends_markers,
            fails_at_once=behaviour.defers_responses,
        )
        self.options["log"] = self._log
        self.coordinator = Coordinator(**self.options)
        if slow:
            self._log.hold()

    def _between(self) -> None:
        if self._slow and self.random.random() < 0.4:
            self._log.release_first()
            self._take(self.coordinator.take(), self.now_ms)
        if self.random.random() < self._chance:
            self._happen(self.random.choice(self._happens))

    def _happen(self, fault: str) -> None:
        self.lines.append(self.fault_line(fault))
        coordinator = self.coordinator
        if fault == "crash":
            self._log.forget()
            served = [p for p in PARTITIONS if coordinator.serving(p) is not Serving.UNLOADED]
            self.coordinator = Coordinator(**self.options, served=served, start_ms=self.now_ms)
            self._hang_up()
        elif fault == "cleanup":
            self._take(coordinator.cleanup(), self.now_ms)
        else:
            move = {"unload": coordinator.unload, "load": coordinator.load}[fault]
            answers: list[Response] = [a for p in PARTITIONS for a in move(p)]
            self._take(answers, self.now_ms)

    def fault_line(self, fault: str) -> Line:
        """What those who look after the broker note."""
        early, late = (self.random.randint(0, self.way_ms) for _ in range(2))
        span = {"startMs": max(self.now_ms - early, 0), "endMs": self.now_ms + late}
        return {"type": "fault", "fault": fault, **span}

    def _hang_up(self) -> None:
        """Who waits is not answered, and asks again."""
        coming = {number for _, number, *_ in self._queue}
        for number in self._sent.keys() - coming:
            client, _ = self._sent.pop(number)
            lost_ms = self.now_ms + self.random.randint(0, self.way_ms)
            self.lines.append({"type": "lost", "id": number, "endMs": lost_ms})
            self._send(client, lost_ms + 1 + self.random.randint(0, self.think_ms))
