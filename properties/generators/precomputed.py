"""The precomputed steps of an explored instance: the request of each input, and its outcomes.

Walks need neither the rules nor the canonical form: a step looks up the answers, the next node and
what the outcome changes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from groupcheck.model.classic.exploring.canonical import CanonicalForm, parked_ids
from groupcheck.model.classic.state import Coordinator, Group
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.engine.exploration import StateSpace, Transition
from groupcheck.model.vocabulary import (
    JoinGroupResponse,
    Request,
    RequestBody,
    Response,
    ResponseBody,
)
from groupcheck.properties.coverage.covered import first_edges, first_pairs
from groupcheck.properties.generators.expected_view import ExpectedView
from groupcheck.properties.generators.template import Template, template
from groupcheck.properties.input_kinds import kind_of
from groupcheck.properties.sequence import needed_ids

# The name of a new member in the step in which it joins: the symbol of request 0.
NEWCOMER = "#0"

Pairs = tuple[tuple[int, int], ...]


class AllowedAnswer(NamedTuple):
    """An answer to a request, in the names of the node, and its template."""

    request_id: int
    body: ResponseBody
    template: Template

    @classmethod
    def of(cls, response: Response) -> AllowedAnswer:
        """A response as an allowed answer."""
        return cls(response.request_id, response.body, template(response.body))


class Change(NamedTuple):
    """What an outcome changes, besides the node.

    `names` and `ids` map to those of the target, and `generations` is added to the generation
    offset there; None if there is no group, and so no offset.
    """

    names: tuple[tuple[str, str], ...]
    ids: Pairs
    generations: int | None

    @property
    def renames(self) -> bool:
        """Whether a name changes."""
        return any(before != after for before, after in self.names)

    @property
    def renumbers(self) -> bool:
        """Whether a request id changes."""
        return any(before != after for before, after in self.ids)


class Changes(NamedTuple):
    """The changes of every transition of a state space.

    Several outcomes may be one transition, each with a change of its own. `distinct` are the
    different groups of changes; `numbers` has the place of each transition's.
    """

    distinct: tuple[tuple[Change, ...], ...]
    numbers: array[int]

    def of(self, first: int, indexes: Iterable[int]) -> Iterator[tuple[int, Change]]:
        """The index and the change of each outcome; `first` is the node's first transition."""
        for index in indexes:
            for change in self.distinct[self.numbers[first + index]]:
                yield index, change


class Branch(NamedTuple):
    """One outcome of an input: the index of its transition, the target, and what it changes.

    `answers` are in the names of the node; `renames` and `renumbers` say whether names and request
    ids change. It is `unchanged` if nothing changes. `own` is the answer to the input itself if
    that is the only one, and it `reveals` if an answer may reveal a member id.
    """

    edge: int
    target: int
    answers: tuple[AllowedAnswer, ...]
    names: tuple[tuple[str, str], ...]
    ids: Pairs
    generations: int | None
    renames: bool
    renumbers: bool
    unchanged: bool
    own: AllowedAnswer | None
    reveals: bool


class Prepared(NamedTuple):
    """An input of any node: its kind, and what a request needs to be sent.

    If it is a request, it has the template of the body, and the names of the `senders`: no client
    can send it before their ids are revealed.
    """

    kind: tuple[object, ...]
    template: Template | None
    version: int
    senders: tuple[str, ...]

    @classmethod
    def of(cls, given: Input) -> Prepared:
        """Prepare an input."""
        if not isinstance(given, Request):
            return cls(kind_of(given), None, 0, ())
        body = given.body
        return cls(kind_of(given), template(body), given.api_version, _senders(body))


class PrecomputedInput:
    """One input of a node, prepared; `indexes` are those of its transitions."""

    __slots__ = ("branches", "given", "indexes", "kind", "senders", "template", "version")

    def __init__(self, given: Input, prepared: Prepared, indexes: list[int]) -> None:
        self.given = given
        self.indexes = indexes
        self.branches: tuple[Branch, ...] | None = None
        self.kind, self.template, self.version, self.senders = prepared


class PrecomputedSteps:
    """The inputs of each node of an instance, made when a walk first reaches the node.

    The transitions are numbered: those of a node follow its `first`. So are the pairs that a
    transition is first in: they follow its `first_pair`. Without `changes`, the rules of the
    profile are applied once for each input of a node; None is the profile of the instance.
    """

    def __init__(
        self, space: StateSpace, profile: Profile | None = None, changes: Changes | None = None
    ) -> None:
        self.space = space
        self.profile = profile or space.instance.profile
        self.first = first_edges(space)
        self.first_pair = first_pairs(space)
        self._changes = changes
        self._of: list[list[PrecomputedInput] | None] = [None] * len(space.nodes)
        self._by_edge: list[dict[int, PrecomputedInput] | None] = [None] * len(space.nodes)
        self._groups: dict[tuple[int, int], Group | None] = {}
        self._views: list[ExpectedView | None] = [None] * len(space.nodes)
        # By identity: the space keeps the inputs and responses, and mostly has equal ones once.
        self._prepared: dict[int, Prepared] = {}
        self._answers: dict[int, AllowedAnswer] = {}

    def of(self, node: int) -> list[PrecomputedInput]:
        """The inputs of a node."""
        found = self._of[node]
        if found is None:
            edges = self.space.edges[node]
            found = self._of[node] = [
                self._planned(edges[indexes[0]].given, indexes) for indexes in _by_input(edges)
            ]
        return found

    def with_edge(self, node: int, edge: int) -> PrecomputedInput:
        """The input of a transition of a node."""
        by_edge = self._by_edge[node]
        if by_edge is None:
            inputs = self.of(node)
            by_edge = {index: planned for planned in inputs for index in planned.indexes}
            self._by_edge[node] = by_edge
        return by_edge[edge]

    def branches(self, node: int, planned: PrecomputedInput) -> tuple[Branch, ...]:
        """The branches of an input; without those that leave the instance."""
        if planned.branches is None:
            found = (
                changes_of(self.space, self.profile, node, planned.indexes)
                if self._changes is None
                else self._changes.of(self.first[node], planned.indexes)
            )
            planned.branches = tuple(self._branch(node, *each) for each in found)
        return planned.branches

    def group(self, node: int, generation_offset: int) -> Group | None:
        """The group of a node, with its generation at this offset."""
        key = (node, generation_offset)
        if key not in self._groups:
            group = self.space.nodes[node].group
            if group is not None:
                group = group._replace(generation_id=group.generation_id + generation_offset)
            self._groups[key] = group
        return self._groups[key]

    def expected(self, node: int) -> ExpectedView | None:
        """The expected view of a node; None if it has no group."""
        expected, group = self._views[node], self.space.nodes[node].group
        if expected is None and group is not None:
            expected = self._views[node] = ExpectedView(group)
        return expected

    def _branch(self, node: int, index: int, change: Change) -> Branch:
        edge = self.space.edges[node][index]
        renames, renumbers = change.renames, change.renumbers
        answers = tuple(map(self._answer, edge.responses))
        is_own = all(answer.request_id == 0 for answer in answers)
        moves = edge.target != node or change.generations or renames or renumbers
        return Branch(
            index,
            edge.target,
            answers,
            *change,
            renames,
            renumbers,
            is_own and not moves,
            answers[0] if is_own and len(answers) == 1 else None,
            any(isinstance(answer.body, JoinGroupResponse) for answer in answers),
        )

    def _planned(self, given: Input, indexes: list[int]) -> PrecomputedInput:
        prepared = self._prepared.get(id(given))
        if prepared is None:
            prepared = self._prepared[id(given)] = Prepared.of(given)
        return PrecomputedInput(given, prepared, indexes)

    def _answer(self, response: Response) -> AllowedAnswer:
        found = self._answers.get(id(response))
        if found is None:
            found = self._answers[id(response)] = AllowedAnswer.of(response)
        return found


def _by_input(edges: Sequence[Transition]) -> Iterable[list[int]]:
    """The indexes of the transitions of each input of a node, in whose space it is one object."""
    found: dict[int, list[int]] = {}
    for index, edge in enumerate(edges):
        found.setdefault(id(edge.given), []).append(index)
    return found.values()


def all_changes(space: StateSpace) -> Changes:
    """The changes of every transition of a state space."""
    distinct: dict[tuple[Change, ...], int] = {}
    numbers = array("L")
    for node, edges in enumerate(space.edges):
        found: list[list[Change]] = [[] for _ in edges]
        for indexes in _by_input(edges):
            for index, change in changes_of(space, space.instance.profile, node, indexes):
                found[index].append(change)
        numbers.extend(distinct.setdefault(tuple(each), len(distinct)) for each in found)
    return Changes(tuple(distinct), numbers)


def changes_of(
    space: StateSpace, profile: Profile, node: int, indexes: Sequence[int]
) -> Iterator[tuple[int, Change]]:
    """The outcomes of one input that are these transitions of a node, by the rules of a profile."""
    state, instance, edges = space.nodes[node], space.instance, space.edges[node]
    given = edges[indexes[0]].given
    for outcome in successors(state, given, profile, instance.config):
        form = space.canonical(outcome.coordinator)
        target = space.numbers.get(form.node)
        if target is None:
            continue
        answers = tuple(sorted(outcome.responses, key=attrgetter("request_id")))
        for index in indexes:
            if edges[index].target == target and edges[index].responses == answers:
                ids = tuple(renumbered(outcome.coordinator, form))
                offset = outcome.coordinator.group and form.generation_offset
                yield index, Change(tuple(form.names.items()), ids, offset)
                break


def renumbered(state: Coordinator, form: CanonicalForm) -> Iterator[tuple[int, int]]:
    """The ids of parked requests, each with its id in the canonical form."""
    group = state.group or Group()
    for member in group.members:
        join, sync = parked_ids(form.names[member.member_id])
        if member.awaiting_join is not None:
            yield member.awaiting_join, join
        if member.awaiting_sync is not None:
            yield member.awaiting_sync, sync
    for before, after in zip(state.appends, form.node.appends, strict=True):
        ours: Any = getattr(before, "request_id", None)
        theirs: Any = getattr(after, "request_id", None)
        if ours is not None and theirs is not None:
            yield ours, theirs
        after_unload = getattr(before, "after_unload", None)
        if isinstance(after_unload, tuple):
            yield after_unload[0], after.after_unload[0]  # type: ignore[union-attr,index]


def _senders(body: RequestBody) -> tuple[str, ...]:
    """The names of the members whose ids a client needs to send a request."""
    return tuple(filter(_is_name, needed_ids(body)))


def _is_name(member_id: str) -> bool:
    """Whether that is the name of a member in the canonical form, not an unknown id."""
    return member_id[:1] in {"m", "p"} and member_id[1:].isdecimal()
