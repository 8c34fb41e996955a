"""A group's log held to the model: what is not logged is not held against the group.

The lines are held to the automaton of the version (`log_automaton`), and beside it the numbers of
generations are counted. A history begins in any state, and so it goes on after a gap.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from groupcheck.model.profiles import PROFILES
from groupcheck.model.step import Rule
from groupcheck.model.vocabulary import GroupState
from groupcheck.pipeline.logs.automaton import Letter, automaton
from groupcheck.pipeline.logs.brokers import Brokers
from groupcheck.pipeline.logs.observed import LogObserved
from groupcheck.pipeline.logs.places import Places
from groupcheck.pipeline.logs.signs import PRINTS, Sign, rules_of
from groupcheck.pipeline.recordings.columns import Columns
from groupcheck.pipeline.recordings.events import Event

Row = dict[str, Any]
MOST_RECORDED: Final = 4 * 1024 * 1024  # characters of a group's lines in a finding
MOST_LAWFUL: Final = 40  # lines that are told in the place of one


class LogReplay:
    """The history of one group in the logs of one cluster."""

    def __init__(self, opened: Event) -> None:
        header = json.loads(opened.body or "{}")
        self.key = opened.history
        self.profile: str = header["profile"]
        self.observed = LogObserved()
        self._prints = frozenset(PRINTS[self.profile].values()) | {"enlisted"}
        self._places = Places(automaton(self.profile))
        self._brokers = Brokers()
        self._events = self._accepted = self._steps = self._last_ms = 0
        self._undecided: str | None = None
        self._stopped = False  # no more is judged
        self._finding: Row | None = None
        self._lines: list[str] | None = []
        self._characters = 0

    def run(self, events: Columns, start: int, stop: int) -> None:
        """Go on by events, which are all of this history."""
        for at in range(start, stop):
            self.take(events.event(at))

    def take(self, event: Event) -> None:
        """Go on by an event."""
        self._events += 1
        self._last_ms = event.at_ms
        if event.kind == "transition":
            self._line(event)
        elif event.kind == "open":
            mixed = self._brokers.opened(json.loads(event.body or "{}"))
            self._undecided, self._stopped = self._undecided or mixed, self._stopped or bool(mixed)
        else:
            self._undecided = self._undecided or f"{event.kind}: {event.body}"
            self._places.anywhere()
            self._stopped = self._stopped or event.kind == "cut"
        if self._finding is None and not self._stopped:
            self._accepted += 1

    def _line(self, event: Event) -> None:
        said = json.loads(event.body or "{}")
        if self._brokers.has_said(said, event.at_ms):
            return
        if self._lines is not None:
            self._lines.append(said["text"])
            self._characters += len(said["text"]) + 1
            if self._characters > MOST_RECORDED:
                self._lines = None
        if self._finding is None and not self._stopped and said["what"] in self._prints:
            self._judge(event, said)
        self.observed.line(said, event.at_ms)

    def _judge(self, event: Event, said: Row) -> None:
        moved = self._brokers.moved(said, event.at_ms)
        if moved.contradiction:
            self._undecided, self._stopped = self._undecided or moved.contradiction, True
            return
        if moved.elsewhere:
            return
        if moved.anew:
            self._places.anywhere()
        elif moved.lost:
            self._places.lost()
        letter = _letter(said)
        edges = self._places.take(letter, said.get("generation"))
        if edges is None and said["what"] == "starting":
            self._places.lost()  # whatever it was before
            edges = frozenset()
        if edges is None:
            self._found(event, said, letter)
            return
        self._steps += 1
        if len(edges) == 1:
            self.observed.edges.update(edges)

    def _found(self, event: Event, said: Row, letter: Letter) -> None:
        rules = PROFILES[self.profile].rules
        offers = list(self._places.offers())
        mismatch = [told for sign, told in offers if letter.is_shown_by(sign)]
        printing = [n for n, w in PRINTS[self.profile].items() if w == said["what"]]
        because = dict.fromkeys(sign.why for sign, _ in offers)
        refused = [r for n in printing if (r := rules.get(n)) and not mismatch]
        lawful = sorted({json.dumps(told) for _, told in offers})[:MOST_LAWFUL]
        where = f"{said['file'].rpartition('/')[2]}:{event.line}"
        self._finding = {
            "profile": self.profile,
            "line": event.line,
            "at_ms": event.at_ms,
            "accepted": self._accepted,
            "kind": "another generation" if mismatch else "no such line",
            "reason": f"{where}: {_in_words(said)}; lawful: {_listed(mismatch, offers)}",
            "request_id": None,
            "api": None,
            "seen": json.dumps(said),
            "lawful": lawful,
            "because": _told(rules[name] for name in sorted(because) if name in rules),
            "refused": _told(refused),
            "states": len(self._places),
            "recording": "".join(f"{line}\n" for line in self._lines or ()) or None,
        }

    def over(self) -> Iterator[tuple[str, Row]]:
        """The rows that nothing can change any more, each once, with the names of their tables."""
        for name, row in self.observed.over():
            yield name, {**self._whose, **row}

    @property
    def _whose(self) -> Row:
        return dict(zip(("group_id", "source", "session"), self.key, strict=True))

    def end(self) -> Iterator[tuple[str, Row]]:
        """The history is over: each row that comes of it, with the name of its table."""
        finding, verdict, reason = self._finding, "accepted", None
        if finding is not None:
            verdict, reason = "rejected", finding.pop("reason")
        elif self._undecided is not None:
            verdict, reason = "undecided", self._undecided
        counts = {"events": self._events, "accepted": self._accepted, "steps": self._steps}
        yield (
            "verdict",
            {
                **self._whose,
                **counts,
                "profile": self.profile,
                "verdict": verdict,
                "reason": reason,
                "line": finding["line"] if finding else None,
                "at_ms": finding["at_ms"] if finding else self._last_ms,
            },
        )
        if finding is not None:
            yield "finding", {**self._whose, **finding}
        for name, row in self.observed.rows():
            yield name, {**self._whose, **row}


def _letter(said: Row) -> Letter:
    what, state = said["what"], said.get("state")
    if what == "loaded" and "members" in said:
        state = str(GroupState.STABLE if said["members"] else GroupState.EMPTY)
    return Letter(what, state, rules_of(said["reason"]) if _has_reason(said) else None)


def _has_reason(said: Row) -> bool:
    """Whether a rebalance's reason is told; that for which a client leaves is the client's."""
    return said["what"] == "preparing" and "reason" in said


def _in_words(said: Row) -> str:
    told = [f"{said['what']!r}"]
    told += [f"{name} {said[name]}" for name in ("generation", "state") if name in said]
    return " ".join(told) + " cannot be"


def _listed(mismatch: list[Row], offers: list[tuple[Sign, Row]]) -> str:
    """What might have come, in a few words."""
    if mismatch:
        return "generation " + " or ".join(sorted({str(told["generation"]) for told in mismatch}))
    return ", ".join(sorted({repr(told["what"]) for _, told in offers})) or "nothing"


def _told(rules: Iterator[Rule] | list[Rule]) -> list[dict[str, str]]:
    return [{"rule": r.name, "says": r.says, "source": r.source} for r in rules]
