"""Walks over an explored model instance: many thousand steps a second.

The walk compares observations with the precomputed steps. An unexpected observation is no finding
yet: the oracle then checks the walk so far. If it is allowed, the walk continues from the state
that the oracle determines. While the observations fit several nodes, the oracle checks each step.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from groupcheck.model.classic.state import Advance, Coordinator
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import GroupView, Request, ResponseBody
from groupcheck.properties.compare import differing_field
from groupcheck.properties.coverage.covered import NO_PAIR
from groupcheck.properties.coverage.transition_coverage import MAX_DIVERGENCES, edges_taken
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.properties.generators.precomputed import (
    AllowedAnswer,
    Branch,
    PrecomputedInput,
    PrecomputedSteps,
    renumbered,
)
from groupcheck.properties.generators.walk_state import OUTSIDE, WalkState, bound, moved
from groupcheck.properties.histories.recorded_replay import check_recorded, renamed
from groupcheck.properties.oracle import view_of
from groupcheck.properties.ports.numbering import numbered
from groupcheck.properties.ports.port import Observation, Port, PortFailedError
from groupcheck.properties.response_matching import matches, matches_literally
from groupcheck.properties.run import Checks, FoundError, UnfairError, supported
from groupcheck.properties.sequence import fault_of

# Chooses the next input of a node among its inputs; None if it has none.
Choice = Callable[[int, list[PrecomputedInput]], PrecomputedInput | None]


class Walker:
    """Walks one model instance on one port.

    `times` counts how often each transition was covered, and `pairs` has the numbers of the covered
    pairs. `edges` are the transitions of the node that the last step may have taken; none if
    several nodes are possible.
    """

    def __init__(self, precomputed: PrecomputedSteps, port: Port) -> None:
        self.precomputed = precomputed
        self._model = precomputed.profile
        self.port = numbered(port, self._model)
        self.times = array("L", bytes(precomputed.space.transition_count * array("L").itemsize))
        self.pairs: set[int] = set()
        self.edges: Sequence[int] = ()
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
        """The node in which the walk is, or ended; `OUTSIDE` if it has left the instance."""
        return self._at.node

    def walk(self, choose: Choice, limit: int) -> tuple[int, Finding | None]:
        """Walk at most `limit` steps; returns the number of steps, and the finding, if any."""
        inputs_of = self.precomputed.of
        try:
            self.begin()
            for _ in range(limit):
                node = self._at.node
                chosen = choose(node, inputs_of(node))
                if chosen is None:
                    break
                barred = (self.unsupported or self._divergences) and self._barred(chosen)
                if barred or not self._can_send(chosen):
                    continue
                unsupported = self._do(chosen)
                if unsupported is not None:
                    self.unsupported[chosen.kind] = unsupported
                elif self._at.node == OUTSIDE:
                    break
            self.close()
        except FoundError as found:
            return len(self._record), found.finding
        return len(self._record), None

    def begin(self) -> None:
        """Start a test.

        Raises:
            FoundError: the port failed.
        """
        self._record: list[tuple[Input, Observation]] = []
        self._at, self._first_pair = WalkState(0, {}, {}, {}, 0), NO_PAIR
        self._groups: object = None  # the inner state seen last
        self._checks = Checks(self._model, self._broker)  # of the steps until the oracle was asked
        self._is_certain = True  # whether the observations fit one node only
        self._number = 0
        try:
            self.port.open(self._instance.profile.name, self._broker)
        except PortFailedError as failure:
            self._fail(failure, during="open")

    def step(self, edges: Sequence[int]) -> str | None:
        """Send the input of these transitions of the node; returns its name if it is not supported.

        Raises:
            FoundError: the port has left the model, or failed.
            UnfairError: the request uses a member id that the port has not revealed.
        """
        chosen = self.precomputed.with_edge(self._at.node, edges[0])
        if not self._can_send(chosen):
            raise UnfairError
        return self._do(chosen)

    def close(self) -> None:
        """End the test.

        Raises:
            FoundError: the port failed meanwhile.
        """
        try:
            self.port.close()
        except PortFailedError as failure:
            self._fail(failure, during="close")

    def _can_send(self, chosen: PrecomputedInput) -> bool:
        """Whether the port has revealed the ids that a client needs to send the input."""
        if not chosen.senders:
            return True
        names, revealed = self._at.names, self._at.revealed
        return all(names[name] in revealed for name in chosen.senders)

    def _do(self, chosen: PrecomputedInput) -> str | None:
        """Send an input and follow what is observed; returns its name if it is not supported."""
        self._number = number = self._number + 1
        given: Input
        try:
            if chosen.template is None:
                given = chosen.given
                seen = self._happen(chosen)
            else:
                at = self._at
                body = chosen.template(at.names, at.generation_offset)
                given = request = Request(number, chosen.version, body)
                asked = supported(request, self.port.max_versions)
                if asked is None:
                    return request.api
                given = asked
                seen = self.port.request(asked, ())
        except PortFailedError as failure:
            self._fail(failure, given)
        if seen.unsupported is not None:
            return seen.unsupported
        self._record.append((given, seen))
        if not self._is_certain or not self._follow(chosen, number, seen):
            self._ask(chosen)
        return None

    def _happen(self, chosen: PrecomputedInput) -> Observation:
        """Advance the time or apply a fault."""
        given = chosen.given
        if isinstance(given, Advance):
            return self.port.advance(given.ms, ())
        ids = self._at.ids
        answered = [
            {ids.get(answer.request_id, 0) for answer in branch.answers}
            for branch in self.precomputed.branches(self._at.node, chosen)
        ]
        expected = set.intersection(*answered) if answered else ()
        return self.port.fault(fault_of(given), expected)  # type: ignore[arg-type]

    def _follow(self, chosen: PrecomputedInput, number: int, seen: Observation) -> bool:
        """Take the branch that the observation fits; False if it fits none, or several nodes."""
        node, branches = self._at.node, chosen.branches
        if branches is None:
            branches = self.precomputed.branches(node, chosen)
        if len(branches) == 1 and self._stays(branches[0], number, seen):
            self._show(node, (branches[0].edge,))
            return True
        edges: list[int] = []
        reached = self._at
        for branch in branches:
            after = self._matched(branch, number, seen)
            if after is None:
                continue
            if not edges:
                reached = after
            elif after.node != reached.node:
                return False
            if branch.edge not in edges:
                edges.append(branch.edge)
        if not edges:
            return False
        self._show(node, edges)
        self._at, self._groups = reached, seen.groups
        return True

    def _show(self, node: int, edges: Sequence[int]) -> None:
        """Count a transition as covered, and the pair that it ends, if no other one is possible."""
        self.edges = edges
        if len(edges) != 1:
            self._first_pair = NO_PAIR
            return
        edge = self.precomputed.first[node] + edges[0]
        self.times[edge] += 1
        if self._first_pair >= 0:
            self.pairs.add(self._first_pair + edges[0])
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

    def _ask(self, chosen: PrecomputedInput) -> None:
        """Check the steps since the oracle was last asked, and follow its state.

        Raises:
            FoundError: they are not allowed.
        """
        self.asked += 1
        oracle, space, before = self._checks.oracle, self.precomputed.space, self._at.node
        try:
            self._check(self._record[len(self._checks.exchanges) : -1])
            states = oracle.states
            self._check(self._record[-1:])
        except FoundError:
            self._divergences[self._cause(chosen)] += 1
            raise
        is_from_here = self._is_certain or self._only_the_first(states)
        form, *others = map(space.canonical, oracle.states)
        self._is_certain = all(other.node == form.node for other in others)
        real = {symbol: member_id for member_id, symbol in oracle.names.items()}
        self._at = WalkState(
            space.numbers.get(form.node, OUTSIDE),
            {name: real.get(symbol, symbol) for symbol, name in form.names.items()},
            dict(oracle.names),
            {canonical: actual for actual, canonical in renumbered(oracle.states[0], form)},
            form.generation_offset,
        )
        self._groups = None
        self._show(
            before,
            edges_taken(space.edges[before], chosen.indexes, self._at.node, oracle.applied)
            if self._is_certain and is_from_here
            else (),
        )

    def _check(self, exchanges: Iterable[tuple[Input, Observation]]) -> None:
        for given, seen in exchanges:
            check_recorded(self._checks, Exchange(given, seen))

    def _only_the_first(self, states: Sequence[Coordinator]) -> bool:
        """Whether the last step had these states, and only the node of the first allows it."""
        oracle, canonical = self._checks.oracle, self.precomputed.space.canonical
        given, kept = self._checks.exchanges[-1].given, set(oracle.kept)
        first, *others = [canonical(state).node for state in states]
        return all(
            node == first or kept.isdisjoint(oracle.successors(state, given))
            for node, state in zip(others, states[1:], strict=True)
        )

    def _fail(
        self, failure: PortFailedError, given: Input | None = None, during: str = ""
    ) -> NoReturn:
        """Raise the finding that the port failed, or that it had left the model before."""
        self._check(self._record[len(self._checks.exchanges) :])
        last = None if given is None else renamed(given, self._checks.oracle.names)
        raise self._checks.failed(failure, last, during)
