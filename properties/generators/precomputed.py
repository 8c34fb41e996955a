"""The precomputed steps of an explored instance: the request of each input, and its outcomes.

The rules are applied once for each input of a node. Later walks reuse the answers, the next node
and the names there, and need neither the model nor the canonical form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple

from groupcheck.model.classic.exploring.canonical import CanonicalForm, parked_ids
from groupcheck.model.classic.state import Coordinator, Group
from groupcheck.model.classic.step import Outcome
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.engine.exploration import StateSpace
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


class Branch(NamedTuple):
    """One outcome of an input: the index of its transition, and the target.

    `answers` are in the names of the node; `names` and `ids` map to those of the target, and
    `generations` is added to the generation offset there; `renames` and `renumbers` say whether any
    of those changes. It is `unchanged` if none of this changes. `own` is the answer to the input
    itself if that is the only one, and it `reveals` if an answer may reveal a member id.
    """

    edge: int
    target: int
    answers: tuple[AllowedAnswer, ...]
    names: tuple[tuple[str, str], ...]
    ids: Pairs
    generations: int
    renames: bool
    renumbers: bool
    unchanged: bool
    own: AllowedAnswer | None
    reveals: bool


class PrecomputedInput:
    """One input of a node; `indexes` are those of its transitions.

    If it is a request, it has the template of the body, and the names of the `senders`: no client
    can send it before their ids are revealed.
    """

    __slots__ = ("branches", "given", "indexes", "kind", "senders", "template", "version")

    def __init__(self, given: Input) -> None:
        self.given = given
        self.indexes: list[int] = []
        self.branches: tuple[Branch, ...] | None = None
        self.template: Template | None = None
        self.senders: tuple[str, ...] = ()
        self.version = 0
        self.kind = kind_of(given)
        if isinstance(given, Request):
            self.template, self.version = template(given.body), given.api_version
            self.senders = _senders(given.body)


class PrecomputedSteps:
    """The inputs of each node of an instance, made when a walk first reaches the node.

    The transitions are numbered: those of a node follow its `first`. So are the pairs that a
    transition is first in: they follow its `first_pair`.
    """

    def __init__(self, space: StateSpace) -> None:
        self.space = space
        self.first = first_edges(space)
        self.first_pair = first_pairs(space)
        self._of: list[list[PrecomputedInput] | None] = [None] * len(space.nodes)
        self._groups: dict[tuple[int, int], Group | None] = {}
        self._views: list[ExpectedView | None] = [None] * len(space.nodes)

    def of(self, node: int) -> list[PrecomputedInput]:
        """The inputs of a node."""
        found = self._of[node]
        if found is None:
            by_input: dict[Input, PrecomputedInput] = {}
            for index, edge in enumerate(self.space.edges[node]):
                planned = by_input.get(edge.given)
                if planned is None:
                    planned = by_input[edge.given] = PrecomputedInput(edge.given)
                planned.indexes.append(index)
            found = self._of[node] = list(by_input.values())
        return found

    def branches(self, node: int, planned: PrecomputedInput) -> tuple[Branch, ...]:
        """The branches of an input; without those that leave the instance."""
        if planned.branches is None:
            planned.branches = tuple(self._run(node, planned))
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

    def _run(self, node: int, planned: PrecomputedInput) -> Iterator[Branch]:
        space, state = self.space, self.space.nodes[node]
        instance, edges = space.instance, space.edges[node]
        for outcome in successors(state, planned.given, instance.profile, instance.config):
            form = space.canonical(outcome.coordinator)
            target = space.numbers.get(form.node)
            if target is None:
                continue
            answers = _sorted(outcome.responses)
            for index in planned.indexes:
                if edges[index].target == target and edges[index].responses == answers:
                    yield _branch(index, node, target, outcome, form)
                    break


def _branch(index: int, source: int, target: int, outcome: Outcome, form: CanonicalForm) -> Branch:
    names, ids = tuple(form.names.items()), tuple(renumbered(outcome.coordinator, form))
    generation_offset = form.generation_offset
    renames, renumbers = any(a != b for a, b in names), any(a != b for a, b in ids)
    answers = tuple(map(AllowedAnswer.of, _sorted(outcome.responses)))
    reveals = any(isinstance(answer.body, JoinGroupResponse) for answer in answers)
    is_own = all(answer.request_id == 0 for answer in answers)
    unchanged = is_own and target == source and not (generation_offset or renames or renumbers)
    own = answers[0] if is_own and len(answers) == 1 else None
    return Branch(
        index,
        target,
        answers,
        names,
        ids,
        generation_offset,
        renames,
        renumbers,
        unchanged,
        own,
        reveals,
    )


def _sorted(responses: Iterable[Response]) -> tuple[Response, ...]:
    return tuple(sorted(responses, key=attrgetter("request_id")))


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
