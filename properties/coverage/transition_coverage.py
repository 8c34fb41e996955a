"""Which transitions of a model instance a port has covered, and which are still to be tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise, repeat
from random import Random
from threading import RLock

from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.exploration import StateSpace, Transition
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.engine.lower_bound import least_steps
from groupcheck.model.vocabulary import Request
from groupcheck.properties.coverage.covered import references
from groupcheck.properties.coverage.kind import Kind
from groupcheck.properties.explored import steps_of
from groupcheck.properties.generators.frontier import NearestFrontier, Way, path_to
from groupcheck.properties.generators.precomputed import PrecomputedSteps
from groupcheck.properties.input_kinds import kind_of
from groupcheck.properties.result import TransitionCounts

# How often an input with several branches is tried before a branch counts as not chosen. Some
# branches are rare: for example, one requires a certain order of all timers (`_max_tries`).
TRIES_PER_BRANCH = 8

# After this many equal divergences an input is tried in other states only after all other inputs,
# and after so many in a row no path goes through an input whose answers were allowed before.
MAX_DIVERGENCES = 3


Label = tuple[tuple[object, ...], tuple[str, ...]]


class Fork:
    """The transitions of one input in one node: several where Kafka allows a choice."""

    __slots__ = ("branches", "divergences", "given", "tries")

    def __init__(self, given: Input) -> None:
        self.given = given
        self.branches: list[TransitionReference] = []
        self.tries = 0
        self.divergences = 0  # since an answer was allowed


class Coverage:
    """The coverage of one model instance by one port; safe to use from several threads.

    It tries and counts only the `wanted` transitions, though a path to them may need others; the
    first transition of a fork decides for the fork. Paths are planned for a port that chooses
    branches at random. `explored` is the state space; `space` has the graph of the paths, which may
    have more nodes. `tries_per_branch` is how often an input with two branches is tried for each.
    """

    def __init__(
        self,
        space: StateSpace,
        random: Random,
        wanted: Callable[[Transition], bool] = lambda _edge: True,
        tries_per_branch: int = TRIES_PER_BRANCH,
    ) -> None:
        self.space = self.explored = space
        self._wanted = wanted
        self._lock = RLock()
        self.shown: set[TransitionReference] = set()
        self.times: Counter[TransitionReference] = Counter()  # how often each was taken in this run
        self._pairs: set[tuple[TransitionReference, TransitionReference]] = set()
        self.diverged: set[TransitionReference] = set()
        self.left_out: set[TransitionReference] = set()
        self._closed: set[TransitionReference] = set()  # no path goes through these
        self.unsupported: list[str] = []
        self._lacking: set[tuple[object, ...]] = set()  # the kinds of inputs not supported
        self._apis_are_known = False
        self._divergences: Counter[Label] = Counter()
        # The forks postponed because equal ones have diverged; those of them that were resumed; and
        # those postponed again, as no resumed one was allowed.
        self._postponed: dict[Label, list[tuple[int, Fork]]] = {}
        self._resumed: dict[Label, list[tuple[int, Fork]]] = {}
        self._given_up: dict[Label, list[tuple[int, Fork]]] = {}
        self._missed: Counter[TransitionReference] = Counter()
        self._reported = 0
        self._steps: PrecomputedSteps | None = None
        self._tries_per_branch = tries_per_branch
        self._forks = [_forks_of(node, edges) for node, edges in enumerate(space.edges)]
        self.todo = [self._in_order(node, random) for node in range(len(space.nodes))]
        self._ways = [self._ways_out(node) for node in range(len(space.nodes))]
        self._nearest = NearestFrontier(self._ways, self.todo.__getitem__)

    def steps(self, model: Profile | None = None) -> PrecomputedSteps:
        """Return the precomputed steps of the space, by the rules of a profile or its own."""
        model = model or self.explored.instance.profile
        with self._lock:
            if self._steps is None or self._steps.profile is not model:
                self._steps = steps_of(self.explored, model)
            return self._steps

    def _in_order(self, node: int, random: Random) -> list[Fork]:
        order = [fork for fork in self._forks[node].values() if self.wants(node, fork)]
        random.shuffle(order)
        # Transitions to other nodes come first, so that they are taken last, from the list's end.
        order.sort(key=lambda fork: self.after(fork.branches[0]) == node)
        return order

    def wants(self, node: int, fork: Fork) -> bool:
        """Return whether a fork is among those to try."""
        return self._wanted(self.space.edges[node][fork.branches[0].edge])

    def fork(self, branch: TransitionReference) -> Fork:
        """Return the fork that a transition is a branch of."""
        return self._forks[branch.node][self.space.edges[branch.node][branch.edge].given]

    def forks(self, node: int) -> Iterable[Fork]:
        """Return the forks of a node."""
        return self._forks[node].values()

    def _max_tries(self, fork: Fork) -> int:
        """How often to try a fork before its other branches count as not chosen."""
        branches = len(fork.branches)
        return self._tries_per_branch * branches * max(branches - 1, 1)

    def take(self, node: int) -> Fork | None:
        """Return a fork of the node that is still to be tried, and count the try."""
        with self._lock:
            todo = self.todo[node]
            if not todo:
                return None
            fork = todo[-1]
            fork.tries += 1
            if fork.tries >= self._max_tries(fork) or len(fork.branches) == 1:
                todo.pop()
            return fork

    def after(self, branch: TransitionReference) -> int:
        """Return the node that a transition leads to."""
        return self.space.edges[branch.node][branch.edge].target

    def skip(self, branches: set[TransitionReference]) -> None:
        """Count transitions as covered."""
        self.shown |= branches
        for branch in branches:
            fork = self.fork(branch)
            if self.shown.issuperset(fork.branches):
                self._done(branch.node, fork)

    def arrived(self, taken: Sequence[TransitionReference], target: int) -> int:
        """Return the node of a port that has reached `target` by one of these branches."""
        del taken
        return target

    def show(self, fork: Fork, taken: Sequence[TransitionReference]) -> TransitionReference | None:
        """Record the branches of a fork that the port may have taken.

        Returns:
            The branch, if it is unambiguous.
        """
        with self._lock:
            self.shown.update(taken)
            self.times.update(taken)
            if fork.divergences:
                fork.divergences = 0
                self._closed.difference_update(fork.branches)
                node = fork.branches[0].node
                self._ways[node] = self._ways_out(node)
            if self.shown.issuperset(fork.branches):
                self._done(fork.branches[0].node, fork)
            return taken[0] if len(taken) == 1 else None

    def follow(
        self, before: TransitionReference | None, branch: TransitionReference | None
    ) -> None:
        """Record a pair of adjacent transitions, if both are known."""
        if before and branch and self.after(before) != before.node:
            with self._lock:
                self._pairs.add((before, branch))

    def covered_pairs(self) -> set[tuple[TransitionReference, TransitionReference]]:
        """Return the covered pairs of adjacent transitions."""
        return self._pairs

    def count_test(self, taken: Sequence[TransitionReference]) -> None:
        """Count the transitions that a test of an earlier tour has taken."""
        with self._lock:
            self.skip({*taken})
            self.times.update(taken)
            for branch in taken:
                fork = self.fork(branch)
                fork.tries += 1
                if fork.tries >= self._max_tries(fork):
                    self._done(branch.node, fork)
            for before, branch in pairwise(taken):
                self.follow(before, branch)

    def add_counts(self, times: Sequence[int]) -> None:
        """Add the coverage of another generator: the count of each transition."""
        with self._lock:
            counted = zip(references(self.space), times, strict=True)
            often = {branch: number for branch, number in counted if number}
            self.shown.update(often)
            self.times.update(often)

    def diverge(self, node: int, fork: Fork) -> None:
        """Record that the port's answer was not allowed.

        No path goes through the fork any more, unless one of its last answers was allowed: a port
        may have a state that the model lacks.
        """
        with self._lock:
            fork.divergences += 1
            self.diverged.update(fork.branches)
            if fork.divergences >= MAX_DIVERGENCES or self.shown.isdisjoint(fork.branches):
                self._closed.update(fork.branches)
                self._ways[node] = self._ways_out(node)
            self._done(node, fork)
            label = self._label(node, fork)
            self._divergences[label] += 1
            if self._divergences[label] == MAX_DIVERGENCES:
                self._postpone(label)

    def miss(self, branch: TransitionReference) -> None:
        """Record that the port took another branch than the path needs.

        A branch that it misses too often in a row is not used in paths.
        """
        with self._lock:
            self._missed[branch] += 1
            if self._missed[branch] == self._max_tries(self.fork(branch)):
                self._ways[branch.node] = self._ways_out(branch.node)

    def meet(self, branch: TransitionReference) -> None:
        """Record that the port took the branch that the path needs."""
        self._missed.pop(branch, None)

    def miss_fork(self, node: int, fork: Fork) -> None:
        """Record that a fork could not be tried in this test."""
        del node
        for branch in fork.branches:
            self.miss(branch)

    def mark_unsupported(self, given: Input, what: str) -> None:
        """Drop every input of the kind that the port does not support."""
        with self._lock:
            if what not in self.unsupported:
                self.unsupported.append(what)
            self._leave_out({kind_of(given)})

    def support_only(self, apis: Collection[str]) -> None:
        """Drop the requests of APIs that the port does not list; only the first call counts."""
        with self._lock:
            if self._apis_are_known:
                return
            self._apis_are_known = True
            missing = {
                kind_of(given): given.api
                for forks in self._forks
                for given in forks
                if isinstance(given, Request) and given.api not in apis
            }
            self.unsupported += sorted({*missing.values()}.difference(self.unsupported))
            self._leave_out({*missing})

    def leave_out_as(self, before: Coverage) -> None:
        """Drop what the port does not support in the same instance by other rules."""
        self.unsupported = [*before.unsupported]
        self._leave_out(before._lacking)

    def _leave_out(self, kinds: set[tuple[object, ...]]) -> None:
        if not kinds:
            return
        self._lacking |= kinds
        for node, forks in enumerate(self._forks):
            for fork in forks.values():
                if kind_of(fork.given) in kinds:
                    self._done(node, fork)
                    self.left_out.update(fork.branches)
            self._ways[node] = self._ways_out(node)

    def _label(self, node: int, fork: Fork) -> Label:
        return kind_of(fork.given)[:2], self.space.edges[node][fork.branches[0].edge].applied

    def _postpone(self, label: Label) -> None:
        """Postpone the untried forks of a label; give them up if no resumed one was allowed."""
        resumed = self._resumed.get(label)
        again = resumed is None or any(
            self.shown.intersection(fork.branches) for _, fork in resumed
        )
        into = self._postponed if again else self._given_up
        for node, forks in enumerate(self._forks):
            for fork in forks.values():
                untried = self.shown.isdisjoint(fork.branches) and self.diverged.isdisjoint(
                    fork.branches
                )
                if untried and self._label(node, fork) == label:
                    self._closed.update(fork.branches)
                    self._done(node, fork)
                    into.setdefault(label, []).append((node, fork))
            self._ways[node] = self._ways_out(node)

    def _resume(self) -> bool:
        """Resume the postponed forks; False if there are none."""
        if not self._postponed:
            return False
        for label, forks in self._postponed.items():
            self._divergences[label] = 0
            for node, fork in forks:
                self._closed.difference_update(fork.branches)
                self.todo[node].append(fork)
            for node in {node for node, _ in forks}:
                self._ways[node] = self._ways_out(node)
        self._resumed |= self._postponed
        self._postponed = {}
        self._nearest = NearestFrontier(self._ways, self.todo.__getitem__)
        return True

    def resume_given_up(self) -> bool:
        """Resume the forks that were given up; False if there are none."""
        with self._lock:
            self._postponed |= self._given_up
            self._given_up = {}
            return self._resume()

    def _done(self, node: int, fork: Fork) -> None:
        if fork in self.todo[node]:
            self.todo[node].remove(fork)

    def way(self, start: int, limit: int) -> list[TransitionReference] | None:
        """Return a path of at most `limit` steps to a node with untried forks.

        It is the one with the fewest tries, or with the fewest steps if that one is too long.
        """
        with self._lock:
            if limit < 0:
                return None
            if self.todo[start]:
                return []
            branches = self._branches(self._nearest.find(start))
            if branches is None and start == 0 and self._resume():
                return self.way(start, limit)
            if branches is None or len(branches) <= limit:
                return branches
            if all(len(self.fork(branch).branches) == 1 for branch in branches):
                return None  # tries and steps are the same
            return self._branches(self._shortest(start, limit))

    def _shortest(self, start: int, limit: int) -> list[int] | None:
        """The nodes of the path with the fewest steps."""
        before: dict[int, int] = {start: start}
        layer = [start]
        for _ in range(limit + 1):
            for node in layer:
                if self.todo[node]:
                    return path_to(before, start, node)
            following: list[int] = []
            for node in layer:
                for target in self._ways[node]:
                    if target not in before:
                        before[target] = node
                        following.append(target)
            layer = following
        return None

    def _branches(self, path: list[int] | None) -> list[TransitionReference] | None:
        """The transitions between the nodes of a path."""
        if path is None:
            return None
        return [TransitionReference(a, self._ways[a][b].edge) for a, b in pairwise(path)]

    def _ways_out(self, node: int) -> dict[int, Way]:
        """Return for each adjacent node the usable transition with the fewest branches."""
        ways: dict[int, Way] = {}
        for branch in map(TransitionReference, repeat(node), range(len(self.space.edges[node]))):
            target = self.after(branch)
            if target != node and self._is_usable(branch):
                way = Way(branch.edge, len(self.fork(branch).branches))
                if target not in ways or way.tries < ways[target].tries:
                    ways[target] = way
        return ways

    def _is_usable(self, branch: TransitionReference) -> bool:
        return not (branch in self._closed or branch in self.left_out or self._is_missed(branch))

    def _is_missed(self, branch: TransitionReference) -> bool:
        """Whether a path was at this branch so often in a row, and the port took another one."""
        return self._missed[branch] >= self._max_tries(self.fork(branch))

    def _is_never_taken(self, branch: TransitionReference) -> bool:
        """Whether the input was sent often, and the port took this branch never.

        It is no choice of Kafka's if a port answers so late that a timeout may have passed first.
        """
        return self.fork(branch).tries > 0 and self._is_missed(branch)

    def news(self) -> int:
        """Return how many transitions have been covered since the last call."""
        with self._lock:
            new, self._reported = len(self.shown) - self._reported, len(self.shown)
            return new

    def least_steps(self) -> int:
        """Return a lower bound on the steps of any test suite that covers the same transitions.

        One step may cover several branches of a fork that lead to one node: these count once.
        """
        shown = {
            (branch.node, self.fork(branch).given, self.after(branch))
            for branch in self.shown
            if self.wants(branch.node, self.fork(branch))
        }
        return least_steps(self.space, ((node, target) for node, _, target in shown))

    def kinds(self) -> str:
        """Return the outcome of each transition as a letter, in the order of the graph."""
        reachable = self._reachable()
        kinds = ((branch, self._kind(branch)) for branch in references(self.space))
        return "".join(
            Kind.NOT_CHOSEN if kind is Kind.UNTRIED and branch.node not in reachable else kind
            for branch, kind in kinds
        )

    def unreachable(self) -> int:
        """Return how many untried transitions every path to which has an unsupported input."""
        reachable = self._reachable(self.left_out)
        kinds = zip(references(self.space), self.kinds(), strict=True)
        return sum(kind == Kind.UNTRIED and at.node not in reachable for at, kind in kinds)

    def _reachable(self, without: Collection[TransitionReference] = ()) -> set[int]:
        """The nodes reachable without these branches, and those that the port does not take."""
        found, pending = {0}, [0]
        while pending:
            for fork in self._forks[pending.pop()].values():
                taken = [branch for branch in fork.branches if branch in self.shown]
                taken = taken or [
                    branch
                    for branch in fork.branches
                    if branch not in without and not self._is_never_taken(branch)
                ]
                new = {self.after(branch) for branch in taken} - found
                found |= new
                pending += new
        return found

    def _kind(self, branch: TransitionReference) -> Kind:
        fork = self.fork(branch)
        if not self.wants(branch.node, fork):
            return Kind.NOT_ASKED
        if branch in self.shown:
            return Kind.ANSWERED if isinstance(fork.given, Request) else Kind.HAPPENED
        if branch in self.diverged:
            return Kind.DIVERGED
        if branch in self.left_out:
            return Kind.UNSUPPORTED
        if not self.shown.isdisjoint(fork.branches) or self._is_never_taken(branch):
            return Kind.NOT_CHOSEN
        return Kind.AMBIGUOUS if fork.tries else Kind.UNTRIED

    def counts(self) -> TransitionCounts:
        """Return how many transitions have each outcome."""
        return TransitionCounts.of(self.kinds())


def _forks_of(node: int, edges: tuple[Transition, ...]) -> dict[Input, Fork]:
    forks: dict[Input, Fork] = {}
    for index, edge in enumerate(edges):
        fork = forks.setdefault(edge.given, Fork(edge.given))
        fork.branches.append(TransitionReference(node, index))
    return forks


def edges_taken(
    edges: Sequence[Transition],
    indexes: Sequence[int],
    target: int,
    applied: Collection[tuple[str, ...]],
) -> list[int]:
    """Those of a node's transitions by which it may have come to a target, with these rules."""
    found = [index for index in indexes if edges[index].target == target]
    return found if len(found) < 2 else [i for i in found if edges[i].applied in applied]
