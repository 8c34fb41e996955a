"""An explored space made ready to be walked: what each input sends, and what may come back.

The rules are run once for each input of a node. A walk that comes by again has the answers, the
node after and the names there by heart, and needs neither model nor canonical form. How a walk
goes on, and what becomes of what was not expected, is not here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.exploring.canonical import Frame, parked_ids
from groupcheck.model.state import Coordinator, Group
from groupcheck.model.step import Outcome
from groupcheck.model.transition import Input, successors
from groupcheck.model.vocabulary import (
    JoinGroupResponse,
    Request,
    RequestBody,
    Response,
    ResponseBody,
)
from groupcheck.properties.coverage.covered import first_edges, first_pairs
from groupcheck.properties.generators.expected_view import Shape
from groupcheck.properties.input_kinds import sort_of

# The name that a newcomer has in the step that brings it: the symbol of request 0.
NEWCOMER = "#0"

# Makes the body of a request from the ids of its names, the revealed ids and the number of cut
# generations; None if the sender's id was never revealed.
Builder = Callable[[Mapping[str, str], Mapping[str, str], int], RequestBody | None]

Pairs = tuple[tuple[int, int], ...]


class Branch(NamedTuple):
    """One outcome of an input: the transition it belongs to, by its place, and where it leads.

    `answers` are in the names of the node; `names` and `ids` lead to those of the target, and so
    many more `generations` are cut there; `renames` and `renumbers` say whether any of those is
    another than before. It is `still` if nothing of all that changes. `own` is the answer to the
    input itself if that is the only one, and it `tells` if an answer may tell a member its id.
    """

    place: int
    target: int
    answers: tuple[Response, ...]
    names: tuple[tuple[str, str], ...]
    ids: Pairs
    generations: int
    renames: bool
    renumbers: bool
    still: bool
    own: ResponseBody | None
    tells: bool


class Track:
    """One input of a node; `places` are those of its transitions."""

    __slots__ = ("branches", "build", "given", "places", "sort", "version")

    def __init__(self, given: Input) -> None:
        self.given = given
        self.places: list[int] = []
        self.branches: tuple[Branch, ...] | None = None
        self.build: Builder | None = None
        self.version = 0
        self.sort = sort_of(given)
        if isinstance(given, Request):
            self.build, self.version = builder(given.body), given.api_version


class Tracks:
    """The tracks of each node of a space, made when a walk first comes there.

    The transitions are numbered: those of a node follow its `first`. So are the pairs that a
    transition is first in: they follow its `first_pair`.
    """

    def __init__(self, space: StateSpace) -> None:
        self.space = space
        self.first = first_edges(space)
        self.first_pair = first_pairs(space)
        self._of: list[list[Track] | None] = [None] * len(space.nodes)
        self._groups: dict[tuple[int, int], Group | None] = {}
        self._shapes: list[Shape | None] = [None] * len(space.nodes)

    def of(self, node: int) -> list[Track]:
        """The tracks of a node."""
        found = self._of[node]
        if found is None:
            by_input: dict[Input, Track] = {}
            for place, edge in enumerate(self.space.edges[node]):
                track = by_input.get(edge.given)
                if track is None:
                    track = by_input[edge.given] = Track(edge.given)
                track.places.append(place)
            found = self._of[node] = list(by_input.values())
        return found

    def branches(self, node: int, track: Track) -> tuple[Branch, ...]:
        """The branches of a track; those that lead out of the space are not among them."""
        if track.branches is None:
            track.branches = tuple(self._run(node, track))
        return track.branches

    def group(self, node: int, cut: int) -> Group | None:
        """The group of a node, its generation as it is where so many are cut."""
        key = (node, cut)
        if key not in self._groups:
            group = self.space.nodes[node].group
            if group is not None:
                group = group._replace(generation_id=group.generation_id + cut)
            self._groups[key] = group
        return self._groups[key]

    def shape(self, node: int) -> Shape | None:
        """How a node looks; None if it has no group."""
        shape, group = self._shapes[node], self.space.nodes[node].group
        if shape is None and group is not None:
            shape = self._shapes[node] = Shape(group)
        return shape

    def _run(self, node: int, track: Track) -> Iterator[Branch]:
        space, state = self.space, self.space.nodes[node]
        instance, edges = space.instance, space.edges[node]
        for outcome in successors(state, track.given, instance.profile, instance.config):
            frame = space.canonical(outcome.coordinator)
            target = space.numbers.get(frame.node)
            if target is None:
                continue
            answers = _sorted(outcome.responses)
            for place in track.places:
                if edges[place].target == target and edges[place].responses == answers:
                    yield _branch(place, node, target, outcome, frame)
                    break


def _branch(place: int, source: int, target: int, outcome: Outcome, frame: Frame) -> Branch:
    names, ids = tuple(frame.names.items()), tuple(renumbered(outcome.coordinator, frame))
    cut = frame.generations_cut
    renames, renumbers = any(a != b for a, b in names), any(a != b for a, b in ids)
    answers = _sorted(outcome.responses)
    tells = any(isinstance(answer.body, JoinGroupResponse) for answer in answers)
    is_own = all(answer.request_id == 0 for answer in answers)
    still = is_own and target == source and not (cut or renames or renumbers)
    own = answers[0].body if is_own and len(answers) == 1 else None
    return Branch(place, target, answers, names, ids, cut, renames, renumbers, still, own, tells)


def _sorted(responses: Iterable[Response]) -> tuple[Response, ...]:
    return tuple(sorted(responses, key=attrgetter("request_id")))


def renumbered(state: Coordinator, frame: Frame) -> Iterator[tuple[int, int]]:
    """The ids of requests that wait, each with its id in the canonical form."""
    group = state.group or Group()
    for member in group.members:
        join, sync = parked_ids(frame.names[member.member_id])
        if member.awaiting_join is not None:
            yield member.awaiting_join, join
        if member.awaiting_sync is not None:
            yield member.awaiting_sync, sync
    for before, after in zip(state.appends, frame.node.appends, strict=True):
        ours: Any = getattr(before, "request_id", None)
        theirs: Any = getattr(after, "request_id", None)
        if ours is not None and theirs is not None:
            yield ours, theirs
        outlived = getattr(before, "outlived", None)
        if isinstance(outlived, tuple):
            yield outlived[0], after.outlived[0]  # type: ignore[union-attr,index]


def builder(body: RequestBody) -> Builder:
    """How requests like that one are made, quickly: it is done at each step of each walk."""
    cls: Any = type(body)
    fields, base = body._fields, list[Any](body)
    member: str = getattr(body, "member_id", "")
    member_at = fields.index("member_id") if _named(member) else None
    shifted = getattr(body, "generation_id", -1) >= 0
    generation_at = fields.index("generation_id") if shifted else None
    listed = next((f for f in ("assignments", "members") if getattr(body, f, ())), None)
    listed_at = None if listed is None else fields.index(listed)
    entries: Any = () if listed is None else getattr(body, listed)
    asking = [e.member_id for e in entries if listed == "members" and _named(e.member_id)]
    rows = [(e.member_id, tuple(e[1:])) for e in entries]  # each begins with a member's id
    make: Any = type(entries[0]) if entries else None
    if member_at is generation_at is listed_at is None:
        return lambda _names, _revealed, _cut: body

    def build(
        names: Mapping[str, str], revealed: Mapping[str, str], cut: int
    ) -> RequestBody | None:
        values = base.copy()
        if member_at is not None:
            if names[member] not in revealed:
                return None
            values[member_at] = names[member]
        if generation_at is not None:
            values[generation_at] += cut
        if listed_at is not None:
            for name in asking:
                if names[name] not in revealed:
                    return None
            values[listed_at] = tuple([make(names.get(name, name), *row) for name, row in rows])
        made: RequestBody = tuple.__new__(cls, values)
        return made

    return build


def _named(member_id: str) -> bool:
    """Whether that is the name of a member in the canonical form, not an unknown id."""
    return member_id[:1] in {"m", "p"} and member_id[1:].isdecimal()
