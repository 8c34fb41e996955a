"""Two-phase commit: the same actions as in `TwoPhase.tla`, in this folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from groupcheck.model.engine.actions import ActionSpecification, ActionStep
from groupcheck.model.engine.rules import Effect, Guard, Rule, Table, version_of
from groupcheck.model.engine.specification import Invariant, LeadsTo


class Manager(NamedTuple):
    """A resource manager; has it sent Prepared, and has the transaction manager received that?"""

    state: str = "working"
    sent: bool = False
    received: bool = False


class State(NamedTuple):
    """The resource managers, and the transaction manager's decision, sent to all of them."""

    managers: tuple[Manager, ...]
    decision: str = ""


def _become(words: str, *responses: str, **fields: object) -> Effect:
    def apply(step: ActionStep, r: int | None) -> None:
        step.set(**fields) if r is None else step.set_at("managers", r, **fields)
        step.responses += responses

    return Effect(words, apply)


def _decided(decision: str) -> Guard:
    return Guard(f"the decision is {decision!r}", lambda step, _: step.state.decision == decision)


def _rule(name: str, line: int, guards: tuple[Guard, ...], *effects: Effect) -> Rule:
    return Rule(name, name, {"Lamport": f"TwoPhase.tla:{line}"}, guards, effects)


WORKING = Guard("it is working", lambda step, r: step.state.managers[r].state == "working")
SENT = Guard("it has sent Prepared", lambda step, r: step.state.managers[r].sent)
ALL = Guard("all are prepared", lambda step, _: all(m.received for m in step.state.managers))
OPEN, COMMIT, ABORT = map(_decided, ("", "Commit", "Abort"))
ABORTED = _become("abort", "aborted", state="aborted")
COMMITTED = _become("commit", "committed", state="committed")
PREPARED = _become("send Prepared", "Prepared", state="prepared", sent=True)
SEND_COMMIT = _become("send Commit to all", "Commit", decision="Commit")
SEND_ABORT = _become("send Abort to all", "Abort", decision="Abort")
RECEIVED = _become("note that it is prepared", received=True)

TABLES = {
    "receive": (_rule("TMRcvPrepared", 30, (OPEN, SENT), RECEIVED),),
    "decide": (
        _rule("TMCommit", 36, (OPEN, ALL), SEND_COMMIT),
        _rule("TMAbort", 43, (OPEN,), SEND_ABORT),
    ),
    "choose": (
        _rule("RMPrepare", 51, (WORKING,), PREPARED),
        _rule("RMChooseToAbort", 57, (WORKING,), ABORTED),
    ),
    "follow": (
        _rule("RMRcvCommitMsg", 62, (COMMIT,), COMMITTED),
        _rule("RMRcvAbortMsg", 67, (ABORT,), ABORTED),
    ),
}


@dataclass(frozen=True)
class TwoPhase(ActionSpecification):
    """Two-phase commit with a number of resource managers."""

    managers: int = 3
    version = version_of("Lamport", (Table(name, name, rules) for name, rules in TABLES.items()))

    @property
    def initial(self) -> State:
        """Every resource manager is working."""
        return State((Manager(),) * self.managers)

    def subjects(self, name: str) -> range | tuple[None]:
        """The resource managers, by number."""
        return (None,) if name == "decide" else range(self.managers)


CONSISTENT = Invariant(
    "No resource manager aborts if another commits.",
    lambda state: not {m.state for m in state.managers} >= {"aborted", "committed"},
)
COMMIT_REACHES_ALL = LeadsTo(
    "After the decision to commit, every resource manager commits.",
    lambda state: state.decision == "Commit",
    lambda state: all(m.state == "committed" for m in state.managers),
    lambda given: given.subject if given.name == "follow" else None,
)
