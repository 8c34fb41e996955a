"""Random walks over an explored model instance: many thousand steps a second, from a seed.

The walk compares observations with the precomputed steps. An unexpected observation is no finding
yet: the oracle then checks the whole walk. If it is allowed, the walk continues from the state
that the oracle determines.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable

from groupcheck.model.state import Advance
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import GroupView, Request, ResponseBody
from groupcheck.properties.compare import differing_field
from groupcheck.properties.coverage.covered import NO_PAIR
from groupcheck.properties.coverage.transition_coverage import ALIKE
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.properties.generators.precomputed import Branch, Track, Tracks, renumbered
from groupcheck.properties.generators.walk_state import WalkState, bound, moved
from groupcheck.properties.histories.recorded_replay import End, replay_recorded
from groupcheck.properties.oracle import view_of
from groupcheck.properties.ports.numbering import numbered
from groupcheck.properties.ports.port import Observation, Port, PortFailedError
from groupcheck.properties.response_matching import agree, agree_at_last
from groupcheck.properties.run import FoundError
from groupcheck.properties.sequence import fault_of

# Says what is tried next in a node, of its tracks; None if there is nothing.
Choice = Callable[[int, list[Track]], Track | None]


class Walker:
    """Walks one space on one port.

    A `model` says what is allowed; None is that of the space. `times` has for each transition
    how often it was covered, and `pairs` the numbers of the covered pairs.
    """

    def __init__(self, tracks: Tracks, port: Port, model: Profile | None = None) -> None:
        self.tracks = tracks
        self._model = model or tracks.space.instance.profile
        self.port = numbered(port, self._model)
        self.times = array("L", bytes(tracks.space.transition_count * array("L").itemsize))
        self.pairs: set[int] = set()
        self._led = NO_PAIR  # the first of the pairs that the last step is first in
        self.unsupported: dict[tuple[object, ...], str] = {}
        self.asked = 0  # how often the oracle was
        self._alike: Counter[tuple[object, ...]] = Counter()  # what was found, by what was done
        self._instance = tracks.space.instance
        self._broker = self._instance.broker

    @property
    def record(self) -> list[Exchange]:
        """What was done in the last walk."""
        return [Exchange(given, seen) for given, seen in self._record]

    @property
    def node(self) -> int:
        """Where the walk is, or ended."""
        return self._at.node

    def walk(self, choose: Choice, limit: int) -> tuple[int, Finding | None]:
        """Walk so many steps at the most; those done, and what was found."""
        self._record: list[tuple[Input, Observation]] = []
        self._at, self._led = WalkState(0, {}, {}, {}, 0), NO_PAIR
        self._groups: object = None  # the inner state seen last
        self._certain = True  # that the port is there, and not where it would look the same
        during, given = "open", None
        try:
            self.port.open(self._instance.profile.name, self._broker)
            during, request, tracks_of = "", self.port.request, self.tracks.of
            for number in range(1, limit + 1):
                node = self._at.node
                track = choose(node, tracks_of(node))
                if track is None:
                    break
                if (self.unsupported or self._alike) and self._barred(track):
                    continue
                if track.build is None:
                    given = track.given
                    seen = self._happen(given)
                else:
                    at = self._at
                    body = track.build(at.names, at.revealed, at.cut)
                    if body is None:
                        continue  # no member can send that
                    given = asked = Request(number, track.version, body)
                    seen = request(asked, ())
                if seen.unsupported is not None:
                    self.unsupported[track.sort] = seen.unsupported
                    continue
                self._record.append((given, seen))
                if not self._follow(track, number, seen) and not self._ask(track):
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

    def _follow(self, track: Track, number: int, seen: Observation) -> bool:
        """Go where what was seen leads; False if it leads nowhere that is known.

        If it fits more than one branch, one of them is taken, and nothing more is counted as shown
        in this walk, unless the oracle is asked where the port is, and knows.
        """
        node, branches = self._at.node, track.branches
        if branches is None:
            branches = self.tracks.branches(node, track)
        if len(branches) == 1 and self._stays(branches[0], number, seen):
            self._show(node, branches[0].place)
            return True
        taken: Branch | None = None
        for branch in branches:
            after = self._matched(branch, number, seen)
            if after is None:
                continue
            if taken is None:
                taken, place = branch, after
            elif branch.place != taken.place:
                self._certain = False
        if taken is None:
            return False
        self._show(node, taken.place)
        self._at, self._groups = place, seen.groups
        return True

    def _show(self, node: int, place: int) -> None:
        """Count an edge as shown, and the pair that it ends, if it is certain that it was taken."""
        if not self._certain:
            self._led = NO_PAIR
            return
        edge = self.tracks.first[node] + place
        self.times[edge] += 1
        if self._led >= 0:
            self.pairs.add(self._led + place)
        self._led = self.tracks.first_pair[edge]

    def _stays(self, branch: Branch, number: int, seen: Observation) -> bool:
        """Whether it is clear at a glance that a branch was taken which changes nothing."""
        if not branch.still or branch.own is None or len(seen.responses) != 1:
            return False
        (only,) = seen.responses
        return (
            only.request_id == number
            and agree(branch.own, only.body, self._at)
            and seen.groups == self._groups
        )

    def _matched(self, branch: Branch, number: int, seen: Observation) -> WalkState | None:
        """Where a branch leads to, if it is what was seen."""
        at, responses = self._at, seen.responses
        if len(responses) != len(branch.answers):
            return None
        knowing = at
        if responses:
            pairs = self._pairs(branch, number, seen)
            if pairs is None:
                return None
            if branch.tells:
                knowing = bound(pairs, at, number)
            for allowed, answer, request_id in pairs:
                if not agree(allowed, answer, knowing) and not agree_at_last(
                    allowed, answer, knowing, self._version(request_id)
                ):
                    return None
        if branch.still and knowing is at:
            if seen.groups == self._groups:
                return at
            place = at
        else:
            place = moved(branch, knowing, number)
        return place if self._shows(place, seen.groups) else None

    def _pairs(
        self, branch: Branch, number: int, seen: Observation
    ) -> list[tuple[ResponseBody, ResponseBody, int]] | None:
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
            pairs.append((allowed.body, answers[request_id], request_id))
        return pairs if len(answers) == len(pairs) else None

    def _version(self, request_id: int) -> int:
        """The version of a request of this walk."""
        return next(
            given.api_version
            for given, _ in reversed(self._record)
            if isinstance(given, Request) and given.request_id == request_id
        )

    def _shows(self, at: WalkState, groups: tuple[GroupView, ...] | None) -> bool:
        """Whether the inner state is that of the node, as far as it is shown."""
        if groups is None:
            return True
        view = view_of(groups)
        shape = self.tracks.shape(at.node)
        if shape and view and shape.fits(view, at.names, at.revealed, at.cut):
            return True
        names = {real: name for name, real in at.names.items() if real in at.revealed}
        return differing_field(self.tracks.group(at.node, at.cut), view, names) is None

    def _barred(self, track: Track) -> bool:
        """Whether the port does not support that, or it was found often enough what comes of it."""
        return track.sort in self.unsupported or self._alike[self._cause(track)] >= ALIKE

    def _cause(self, track: Track) -> tuple[object, ...]:
        return track.sort[:2], self.tracks.space.edges[self.node][track.places[0]].fired

    def _ask(self, track: Track) -> bool:
        """Check the whole walk with the oracle; False if it is allowed, but has left the instance.

        Raises:
            FoundError: it is not allowed.
        """
        self.asked += 1
        self._led = NO_PAIR
        try:
            oracle = replay_recorded(self._model, self._broker, self.record).oracle
        except FoundError:
            self._alike[self._cause(track)] += 1
            raise
        space = self.tracks.space
        frame = space.canonical(oracle.states[0])
        node = space.numbers.get(frame.node)
        if node is None:
            return False
        self._certain = all(space.canonical(state).node == frame.node for state in oracle.states)
        real = {symbol: member_id for member_id, symbol in oracle.names.items()}
        names = {name: real.get(symbol, symbol) for symbol, name in frame.names.items()}
        ids = {canonical: actual for actual, canonical in renumbered(oracle.states[0], frame)}
        self._at = WalkState(node, names, dict(oracle.names), ids, frame.generations_cut)
        self._groups = None
        return True

    def _failed(self, failure: PortFailedError, given: Input | None, during: str) -> Finding | None:
        """The finding that the port failed; if it had left the model before that, that."""
        try:
            end = End(failure, given, during)
            replay_recorded(self._model, self._broker, self.record, end)
        except FoundError as found:
            return found.finding
        return None
