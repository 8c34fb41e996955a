"""Random walks beyond the explored spaces: the moves of the state machine, without Hypothesis.

Every version, odd values, other settings of the broker, any time: the oracle runs beside.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Final, NamedTuple

from groupcheck.model.step import Profile
from groupcheck.model.vocabulary import Request
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.generators.moves import MOVES, Move
from groupcheck.properties.generators.sketch import CHOICES, Picks, Sketch, Spoken
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import FoundError, Run, UnfairError

# Every other walk does without half of the moves, but for these, which are more likely, too:
# without them nothing begins.
ALWAYS: Final = ("join", "join_again", "sync", "advance", "carry_on", "carry_on", "carry_on")

# So many of the last requests may come again.
REMEMBERED: Final = 8


class Wandering:
    """A test of random moves under way: what it knows, and what it does with a move."""

    def __init__(self, port: Port, profile: Profile, speaks: Spoken, choice: int) -> None:
        self.applied: Counter[str] = Counter()
        picks = Picks(choice)
        self.run = Run(port, profile, speaks.broker(picks))
        self.sketch = Sketch(speaks, hasty=picks.of(2) == 0)

    def do(self, move: Move, choice: int) -> None:
        """One step, if the move finds anything to do.

        Raises:
            FoundError: the port has left the model, or failed.
        """
        sketch = self.sketch
        given = move.build(sketch, Picks(choice))
        if given is None:
            return
        try:
            unsupported = self.run.step(given)
        except UnfairError:  # of who was loaded, and was never told its id
            return
        if isinstance(given, Request) and unsupported is None:
            sketch.sent = [*sketch.sent[1 - REMEMBERED :], given]
        oracle = self.run.oracle
        for fired in oracle.fired:
            self.applied.update(fired)
        sketch.learn(oracle.states[0], oracle.names)


class Wandered(NamedTuple):
    """How far a walk went, what it found, and how often it may have applied each rule."""

    steps: int
    finding: Finding | None
    applied: Counter[str]


def wander(port: Port, profile: Profile, speaks: Spoken, random: Random, limit: int) -> Wandered:
    """One walk of so many steps at the most."""
    moves = _swarm(random)
    try:
        test = Wandering(port, profile, speaks, random.randrange(CHOICES))
    except FoundError as found:  # it could not even begin
        return Wandered(0, found.finding, Counter())
    finding = None
    try:
        for _ in range(limit):
            move = moves[random.randrange(len(moves))]
            if move.may(test.sketch):
                test.do(move, random.randrange(CHOICES))
        test.run.close()
    except FoundError as found:
        finding = found.finding
    return Wandered(len(test.run.exchanges), finding, test.applied)


def _swarm(random: Random) -> tuple[Move, ...]:
    share = 1.0 if random.random() < 0.5 else 0.5
    likely = {move.name: move for move in MOVES}
    return (
        *(likely[name] for name in ALWAYS),
        *(m for m in MOVES if m.name not in ALWAYS and random.random() < share),
    )
