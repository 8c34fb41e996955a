"""The states in which a group may be by its log: a set for each possible generation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.pipeline.logs.automaton import EventPattern, LogAutomaton
from groupcheck.pipeline.logs.log_events import LogEvent
from groupcheck.pipeline.transitions import Transition

Row = dict[str, Any]


class StateSets:
    """The state sets that the lines so far allow; at first any state, in any generation."""

    def __init__(self, automaton: LogAutomaton) -> None:
        self._automaton = automaton
        self._sets = automaton.sets
        self._at: dict[int | None, int] = {}
        self.any_state()

    def any_state(self) -> None:
        """The group may be in any state."""
        self._at = {None: self._sets.all}

    def lost(self) -> None:
        """Another coordinator has had the group until now."""
        self._at = {None: self._automaton.lost}

    def __len__(self) -> int:
        return sum(map(self._sets.size, self._at.values()))

    def take(self, line: EventPattern, generation: int | None) -> frozenset[Transition] | None:
        """Take a line with this generation, or none; None if no state allows it.

        Returns the transitions that may end with the line; none if one of them may continue.
        """
        found: dict[int | None, int] = {}
        ended: set[frozenset[Transition] | None] = set()
        for before, states in self._at.items():
            for reached in self._sets.step(states, line, line.matches):
                at = reached.weight.of(before)
                if generation is not None and at not in {None, generation}:
                    continue
                ended.add(reached.about)
                for count, more in reached.then:
                    after = count.of(at if generation is None else generation)
                    found[after] = self._sets.union(found.get(after, more), more)
        if not found:
            return None
        self._at = found
        if None in ended:
            return frozenset()
        return frozenset(each for one in ended for each in one or ())

    def next(self) -> Iterator[tuple[LogEvent, Row]]:
        """The log events that may come next, with what their lines would tell."""
        for generation, states in self._at.items():
            for event, moves in sorted(self._sets.next(states).items()):
                for count in {count for count, _ in moves}:
                    row = {"what": event.what, "generation": count.of(generation)}
                    yield event, {**row, "state": event.state, "because": event.why}
