"""Where a group may be by its log: sets of states of the automaton, each with its generation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.pipeline.logs.automaton import Automaton, Letter, Reached, States
from groupcheck.pipeline.logs.signs import Sign
from groupcheck.pipeline.recordings.observed import Edge

Row = dict[str, Any]


class Places:
    """All places that the lines so far allow; in the beginning any, in any generation."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._at: dict[int | None, States] = {}
        self.anywhere()

    def anywhere(self) -> None:
        """Nothing is known any more."""
        self._at = {None: self._automaton.any}

    def lost(self) -> None:
        """Another coordinator had the group until now."""
        self._at = {None: self._automaton.lost}

    def __len__(self) -> int:
        return sum(map(len, self._at.values()))

    def take(self, letter: Letter, generation: int | None) -> frozenset[Edge] | None:
        """Go on by a line that tells this generation, or none; None if it cannot be.

        The steps that may be over by it are given, none if some may not be over.
        """
        found: dict[int | None, States] = {}
        steps: set[Reached] = set()
        for before, states in self._at.items():
            for reached in self._automaton.after(states, letter):
                at = reached.counted.of(before)
                if generation is not None and at not in {None, generation}:
                    continue
                steps.add(reached)
                for count, more in reached.then:
                    after = count.of(at if generation is None else generation)
                    found[after] = found[after] | more if after in found else more
        if not found:
            return None
        self._at = found
        if any(reached.open for reached in steps):
            return frozenset()
        return frozenset(edge for reached in steps for edge in reached.edges)

    def offers(self) -> Iterator[tuple[Sign, Row]]:
        """The signs that may come, with what they would tell."""
        for generation, states in self._at.items():
            for sign, counts in sorted(self._automaton.offers(states).items()):
                for count in counts:
                    told = {"what": sign.what, "generation": count.of(generation)}
                    yield sign, {**told, "state": sign.state, "because": sign.why}
