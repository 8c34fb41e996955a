"""The tour of a consumer's state space: which transitions are covered, and where to go next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Final

from groupcheck.model.client import ClientInput
from groupcheck.model.engine.exploration import StateSpace, Transition
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.properties.clients.differences import Difference, Events, followed

Path = tuple[TransitionReference, ...]
Wanted = Callable[[TransitionReference], bool]


class Tour:
    """What several consumers, side by side, have covered of a state space.

    The specification has one outcome for each input, so a consumer's state is known. Where a
    consumer differs, `known` has how; the tour passes there again only if its requests tell in
    which state it is.
    """

    def __init__(self, space: StateSpace) -> None:
        self.space = space
        self.covered: set[TransitionReference] = set()
        self.known: dict[TransitionReference, Difference] = {}
        self.came: dict[TransitionReference, Path] = {}  # to each of these
        self.failed: set[TransitionReference] = set()
        self._targets: dict[TransitionReference, int | None] = {}  # of those that differ
        self._claimed: set[TransitionReference] = set()
        self._lock: Final = Lock()

    def edge(self, reference: TransitionReference) -> Transition:
        """The transition itself."""
        return self.space.edges[reference.node][reference.edge]

    def given(self, reference: TransitionReference) -> ClientInput:
        """The input of a transition."""
        given: ClientInput = self.edge(reference).given
        return given

    def specified(self, reference: TransitionReference) -> Events:
        """What the specification says that the consumer does."""
        (events,) = self.edge(reference).responses
        found: Events = events
        return found

    def expected(self, reference: TransitionReference) -> Events:
        """What the consumer is known to do: as specified, if it is not known to differ."""
        known = self.known.get(reference)
        return self.specified(reference) if known is None else known.seen

    def target(self, reference: TransitionReference) -> int | None:
        """The number of the state after a transition; None if it is not known."""
        return self._targets.get(reference, self.edge(reference).target)

    def claim(self, start: int) -> Path | None:
        """The shortest path to a transition that nothing has tried, and that is claimed by it."""
        with self._lock:
            path = self._nearest(start)
            if path is not None:
                self._claimed.add(path[-1])
            return path

    def path_to(self, wanted: TransitionReference) -> Path:
        """A shortest path from the initial state to a transition in which the consumer differs."""
        with self._lock:
            # Each path may have met another difference since the consumer came this way.
            return self._search(0, lambda reference: reference == wanted) or self.came[wanted]

    def passed(self, reference: TransitionReference) -> None:
        """Note that the consumer does as specified."""
        with self._lock:
            self.covered.add(reference)

    def differs(self, passed: Sequence[TransitionReference], found: Difference) -> None:
        """Note that the consumer differs in the last of the transitions."""
        with self._lock:
            reference = passed[-1]
            if reference not in self.known:
                self.known[reference] = found
                self.came[reference] = tuple(passed)
                self._targets[reference] = self._target(reference, found)

    def fails(self, reference: TransitionReference) -> None:
        """Note that the transition cannot be tried."""
        with self._lock:
            self.failed.add(reference)

    def release(self, reference: TransitionReference) -> None:
        """Give back a claim that was not reached."""
        with self._lock:
            self._claimed.discard(reference)

    def release_all(self) -> None:
        """Give back every claim."""
        with self._lock:
            self._claimed.clear()

    @property
    def untried(self) -> list[TransitionReference]:
        """The transitions that no consumer has come to."""
        return [each for each in self._all() if not self._is_tried(each)]

    def _all(self) -> Iterator[TransitionReference]:
        for node, edges in enumerate(self.space.edges):
            for place in range(len(edges)):
                yield TransitionReference(node, place)

    def _is_tried(self, reference: TransitionReference) -> bool:
        return reference in self.covered or reference in self.known or reference in self.failed

    def _nearest(self, start: int) -> Path | None:
        return self._search(
            start, lambda each: not self._is_tried(each) and each not in self._claimed
        )

    def _target(self, reference: TransitionReference, found: Difference) -> int | None:
        state = self.space.nodes[self.edge(reference).target]
        state = followed(self.space.instance, state, found)
        return None if state is None else self.space.numbers.get(state)

    def _search(self, start: int, is_wanted: Wanted) -> Path | None:
        came: dict[int, Path] = {start: ()}
        queue = deque([start])
        while queue:
            node = queue.popleft()
            for place, _ in enumerate(self.space.edges[node]):
                reference = TransitionReference(node, place)
                if is_wanted(reference):
                    return (*came[node], reference)
                target = None if reference in self.failed else self.target(reference)
                if target is not None and target not in came:
                    came[target] = (*came[node], reference)
                    queue.append(target)
        return None
