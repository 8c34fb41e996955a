"""Random walks over an explored model instance: many thousand steps a second, from a seed.

The walk compares observations with the precomputed steps. An unexpected observation is no finding
yet: the oracle then checks the whole walk. If it is allowed, the walk continues from the state
that the oracle determines.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable

from groupcheck.model.classic.state import Advance
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import GroupView, Request, ResponseBody
from groupcheck.properties.compare import differing_field
from groupcheck.properties.coverage.covered import NO_PAIR
from groupcheck.properties.coverage.transition_coverage import MAX_DIVERGENCES
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.properties.generators.precomputed import (
    AllowedAnswer,
    Branch,
    PrecomputedInput,
    PrecomputedSteps,
    renumbered,
)
from groupcheck.properties.generators.walk_state import WalkState, bound, moved
from groupcheck.properties.histories.recorded_replay import End, replay_recorded
from groupcheck.properties.oracle import view_of
from groupcheck.properties.ports.numbering import numbered
from groupcheck.properties.ports.port import Observation, Port, PortFailedError
from groupcheck.properties.response_matching import matches, matches_literally
from groupcheck.properties.run import FoundError
from groupcheck.properties.sequence import fault_of

# Chooses the next input of a node among its inputs; None if it has none.
Choice = Callable[[int, list[PrecomputedInput]], PrecomputedInput | None]


class Walker:
    """Walks one model instance on one port.

    The profile `model` is that of the instance if it is None. `times` counts how often each
    transition was covered, and `pairs` has the numbers of the covered pairs.
    """

    def __init__(
        self, precomputed: PrecomputedSteps, port: Port, model: Profile | None = None
    ) -> None:
        self.precomputed = precomputed
        self._model = model or precomputed.space.instance.profile
        self.port = numbered(port, self._model)
        self.times = array("L", bytes(precomputed.space.transition_count * array("L").itemsize))
        self.pairs: set[int] = set()
        self._first_pair = NO_PAIR  # the first of the pairs that begin with the last step
        self.unsupported: dict[tuple[object, ...], str] = {}
        self.asked = 0  # how often the oracle checked a walk
        self._divergences: Counter[tuple[object, ...]] = Counter()  # by cause
        self._instance = precomputed.space.instance
        self._broker = self._instance.broker

    @property
    def record(self) -> list[Exchange]:
        """The exchanges of the last walk."""
        return [Exchange(given, seen) for given, seen in self._record]

    @property
    def node(self) -> int:
        """The node in which the walk is, or ended."""
        return self._at.node

    def walk(self, choose: Choice, limit: int) -> tuple[int, Finding | None]:
        """Walk at most `limit` steps; returns the number of steps, and the finding, if any."""
        self._record: list[tuple[Input, Observation]] = []
        self._at, self._first_pair = WalkState(0, {}, {}, {}, 0), NO_PAIR
        self._groups: object = None  # the inner state seen last
        self._certain = True  # whether the observations fit one node only
        during, given = "open", None
        try:
            self.port.open(self._instance.profile.name, self._broker)
            during, request, inputs_of = "", self.port.request, self.precomputed.of
            for number in range(1, limit + 1):
                node = self._at.node
                chosen = choose(node, inputs_of(node))
                if chosen is None:
                    break
                if (self.unsupported or self._divergences) and self._barred(chosen):
                    continue
                if chosen.template is None:
                    given = chosen.given
                    seen = self._happen(given)
                else:
                    at = self._at
                    senders = chosen.senders
                    if senders and any(at.names[name] not in at.revealed for name in senders):
                        continue  # no member can send that
                    body = chosen.template(at.names, at.generation_offset)
                    given = asked = Request(number, chosen.version, body)
                    seen = request(asked, ())
                if seen.unsupported is not None:
                    self.unsupported[chosen.kind] = seen.unsupported
                    continue
                self._record.append((given, seen))
                if not self._follow(chosen, number, seen) and not self._ask(chosen):
                    break
            during, given = "close", None
            self.port.close()
        except PortFailedError as failure:
            return len(self._record), self._failed(failure, given, during)
        except FoundError as found:
            return len(self._record), found.finding
        return len(self._record), None

    def _happen(self, given: Input) -> Observation:
        """Advance the time or apply a fault."""
        if isinstance(given, Advance):
            return self.port.advance(given.ms, ())
        return self.port.fault(fault_of(given), ())  # type: ignore[arg-type]

    def _follow(self, chosen: PrecomputedInput, number: int, seen: Observation) -> bool:
        """Take the branch that the observation fits; False if it fits none.

        If it fits several, this takes one of them, and counts no transition as covered from then
        on, until the oracle determines the state of the port.
        """
        node, branches = self._at.node, chosen.branches
        if branches is None:
            branches = self.precomputed.branches(node, chosen)
        if len(branches) == 1 and self._stays(branches[0], number, seen):
            self._show(node, branches[0].edge)
            return True
        taken: Branch | None = None
        for branch in branches:
            after = self._matched(branch, number, seen)
            if after is None:
                continue
            if taken is None:
                taken, reached = branch, after
            elif branch.edge != taken.edge:
                self._certain = False
        if taken is None:
            return False
        self._show(node, taken.edge)
        self._at, self._groups = reached, seen.groups
        return True

    def _show(self, node: int, index: int) -> None:
        """Count a transition as covered, and the pair that it ends, if no other one is possible."""
        if not self._certain:
            self._first_pair = NO_PAIR
            return
        edge = self.precomputed.first[node] + index
        self.times[edge] += 1
        if self._first_pair >= 0:
            self.pairs.add(self._first_pair + index)
        self._first_pair = self.precomputed.first_pair[edge]

    def _stays(self, branch: Branch, number: int, seen: Observation) -> bool:
        """Whether the observation literally fits a branch that changes nothing; a fast check."""
        if not branch.unchanged or branch.own is None or len(seen.responses) != 1:
            return False
        (only,) = seen.responses
        return (
            only.request_id == number
            and matches_literally(branch.own, only.body, self._at)
            and seen.groups == self._groups
        )

    def _matched(self, branch: Branch, number: int, seen: Observation) -> WalkState | None:
        """The state after a branch, if the observation fits it."""
        at, responses = self._at, seen.responses
        if len(responses) != len(branch.answers):
            return None
        knowing = at
        if responses:
            pairs = self._pairs(branch, number, seen)
            if pairs is None:
                return None
            if branch.reveals:
                knowing = bound(pairs, at, number)
            for allowed, answer, request_id in pairs:
                if not matches_literally(allowed, answer, knowing) and not matches(
                    allowed, answer, knowing, self._version(request_id)
                ):
                    return None
        if branch.unchanged and knowing is at:
            if seen.groups == self._groups:
                return at
            reached = at
        else:
            reached = moved(branch, knowing, number)
        return reached if self._shows(reached, seen.groups) else None

    def _pairs(
        self, branch: Branch, number: int, seen: Observation
    ) -> list[tuple[AllowedAnswer, ResponseBody, int]] | None:
        """Each allowed answer with the observed one, and the request."""
        if branch.own is not None:  # as most are
            only = seen.responses[0]
            return [(branch.own, only.body, number)] if only.request_id == number else None
        answers = {r.request_id: r.body for r in seen.responses}
        pairs = []
        for allowed in branch.answers:
            request_id = self._at.ids.get(allowed.request_id, number)
            if request_id not in answers:
                return None
            pairs.append((allowed, answers[request_id], request_id))
        return pairs if len(answers) == len(pairs) else None

    def _version(self, request_id: int) -> int:
        """The version of a request of this walk."""
        return next(
            given.api_version
            for given, _ in reversed(self._record)
            if isinstance(given, Request) and given.request_id == request_id
        )

    def _shows(self, at: WalkState, groups: tuple[GroupView, ...] | None) -> bool:
        """Whether the inner state that the port shows is that of the node."""
        if groups is None:
            return True
        view = view_of(groups)
        expected = self.precomputed.expected(at.node)
        if expected and view and expected.fits(view, at.names, at.revealed, at.generation_offset):
            return True
        names = {real: name for name, real in at.names.items() if real in at.revealed}
        return (
            differing_field(self.precomputed.group(at.node, at.generation_offset), view, names)
            is None
        )

    def _barred(self, chosen: PrecomputedInput) -> bool:
        """Whether the port does not support the input, or has diverged too often for this cause."""
        return (
            chosen.kind in self.unsupported
            or self._divergences[self._cause(chosen)] >= MAX_DIVERGENCES
        )

    def _cause(self, chosen: PrecomputedInput) -> tuple[object, ...]:
        return chosen.kind[:2], self.precomputed.space.edges[self.node][chosen.indexes[0]].applied

    def _ask(self, chosen: PrecomputedInput) -> bool:
        """Check the whole walk with the oracle; False if it is allowed, but has left the instance.

        Raises:
            FoundError: it is not allowed.
        """
        self.asked += 1
        self._first_pair = NO_PAIR
        try:
            oracle = replay_recorded(self._model, self._broker, self.record).oracle
        except FoundError:
            self._divergences[self._cause(chosen)] += 1
            raise
        space = self.precomputed.space
        form = space.canonical(oracle.states[0])
        node = space.numbers.get(form.node)
        if node is None:
            return False
        self._certain = all(space.canonical(state).node == form.node for state in oracle.states)
        real = {symbol: member_id for member_id, symbol in oracle.names.items()}
        names = {name: real.get(symbol, symbol) for symbol, name in form.names.items()}
        ids = {canonical: actual for actual, canonical in renumbered(oracle.states[0], form)}
        self._at = WalkState(node, names, dict(oracle.names), ids, form.generation_offset)
        self._groups = None
        return True

    def _failed(self, failure: PortFailedError, given: Input | None, during: str) -> Finding | None:
        """The finding that the port failed, or that it had left the model before."""
        try:
            end = End(failure, given, during)
            replay_recorded(self._model, self._broker, self.record, end)
        except FoundError as found:
            return found.finding
        return None
