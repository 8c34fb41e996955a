"""The lockstep as a Hypothesis state machine: model and port are driven together.

Hypothesis chooses which rules run (a random subset in each test) and with what: members living
and dead, old generations, repeated requests, every version, time to the millisecond around each
timer. The spaces are narrower and walked whole; this is where what they leave out is met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import ClassVar, TypeVar

from hypothesis import HealthCheck, Phase, configuration, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.reporting import with_reporter
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from groupcheck.model.clients import GROUP_ID, TOPIC
from groupcheck.model.state import Advance, Group, HoldAppends, ReleaseAppends
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import (
    Assignment,
    DescribeGroupsRequest,
    HeartbeatRequest,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    SyncGroupRequest,
)
from groupcheck.properties.finding import Finding
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import FoundError, Run
from groupcheck.properties.sketch import (
    METADATA,
    Offer,
    Sketch,
    Spoken,
    brokers,
    offers,
    picks,
    spoken,
    versions,
)


class HungError(BaseException):
    """The port hung; no Exception, for Hypothesis would try those again, and wait each time."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.key)
        self.finding = finding


Step = TypeVar("Step", bound=Callable[..., None])


def asks(api: str) -> Callable[[Step], Step]:
    """A rule of the machine that is only chosen if the port speaks the API."""
    decorate: Callable[[Step], Step] = precondition(
        lambda self: not self.over and bool(self.speaks.versions[api])
    )
    return decorate


class CoordinatorMachine(RuleBasedStateMachine):
    """Drives one port; made concrete by `lockstep`."""

    port: ClassVar[Port]
    profile: ClassVar[Profile]
    speaks: ClassVar[Spoken]
    known: ClassVar[set[tuple[str, ...]]]
    tally: ClassVar[list[Callable[[int], None]]]
    found: ClassVar[list[Finding]]

    def __init__(self) -> None:
        super().__init__()
        self.sketch = Sketch(self.speaks)
        self.over = False
        self.run: Run | None = None

    @initialize(broker=brokers)
    def begin(self, broker: dict[str, int]) -> None:
        """Start the test, with some of the broker's settings other than Kafka's defaults."""
        try:
            self.run = Run(self.port, self.profile, broker)
        except FoundError as found:
            self._found(found)

    @property
    def group(self) -> Group:
        """The group as the model has it, in one of the states that are left."""
        group = self.run.oracle.states[0].group if self.run else None
        return group or Group()

    @property
    def holding(self) -> bool:
        """Whether appends are held."""
        return self.run is not None and self.run.oracle.states[0].holding

    def do(self, given: Input) -> None:
        """One step of both; the end of the test, if it finds what is known already."""
        if self.over or self.run is None:
            return
        try:
            self.run.step(given)
        except FoundError as found:
            self._found(found)
        else:
            told = self.run.oracle.names.values()
            self.sketch.given += [symbol for symbol in told if symbol not in self.sketch.given]

    def _found(self, found: FoundError) -> None:
        self.over = True
        if found.finding.key not in self.known:
            self.found.append(found.finding)
            if found.finding.hung:
                raise HungError(found.finding)
            raise found

    @asks("JoinGroup")
    @rule(version=versions, client=st.integers(0, 2), offer=offers)
    def join(self, version: int, client: int, offer: Offer) -> None:
        """A member without an id joins."""
        self.do(self.sketch.request(offer.request(""), version, client))

    @asks("JoinGroup")
    @rule(member=picks, version=versions, offer=offers)
    def join_again(self, member: int, version: int, offer: Offer) -> None:
        """A member joins with its id, offering the same unless `offer` says otherwise."""
        member_id = self.sketch.member(member)
        known = self.group.member(member_id)
        body = offer.request(member_id)
        if known is not None and offer.protocols < 10:
            body = body._replace(protocols=known.protocols)
        self.do(self.sketch.request(body, version))

    @asks("SyncGroup")
    @rule(member=picks, generation=picks, version=versions, kind=picks, given=picks)
    def sync(self, member: int, generation: int, version: int, kind: int, given: int) -> None:
        """A member asks for its assignment; the leader brings all, or leaves somebody out."""
        group, member_id = self.group, self.sketch.member(member)
        names = [m.member_id for m in group.members if m.told]
        assignments = tuple(Assignment(n, n.encode()) for n in names[given % 3 if given else 0 :])
        body = SyncGroupRequest(
            GROUP_ID,
            self.sketch.generation(group, generation),
            member_id,
            None,
            None if kind == 29 else "connect" if kind == 28 else group.protocol_type or "consumer",
            None if kind == 27 else "other" if kind == 26 else group.protocol_name or "range",
            assignments if member_id == group.leader or given == 30 else (),
        )
        self.do(self.sketch.request(body, version))

    @asks("Heartbeat")
    @rule(member=picks, generation=picks, version=versions)
    def heartbeat(self, member: int, generation: int, version: int) -> None:
        """A member says that it is alive."""
        body = HeartbeatRequest(
            GROUP_ID, self.sketch.generation(self.group, generation), self.sketch.member(member)
        )
        self.do(self.sketch.request(body, version))

    @asks("LeaveGroup")
    @rule(members=st.lists(picks, min_size=1, max_size=3), version=versions)
    def leave(self, members: list[int], version: int) -> None:
        """Members leave, alone or in a batch, perhaps the same one twice."""
        body = LeaveGroupRequest(
            GROUP_ID, tuple(MemberIdentity(self.sketch.member(m)) for m in members)
        )
        self.do(self.sketch.request(body, version))

    @asks("OffsetCommit")
    @rule(
        member=picks,
        generation=picks,
        version=versions,
        partitions=st.lists(
            st.tuples(st.integers(0, 1), st.integers(0, 2), st.sampled_from(METADATA)), max_size=3
        ),
    )
    def commit(
        self,
        member: int,
        generation: int,
        version: int,
        partitions: list[tuple[int, int, str | None]],
    ) -> None:
        """Offsets are committed, by a member or by a consumer without a group."""
        first = self.sketch.request_id * 10  # each offset is another, those of one partition too
        topics = tuple(
            OffsetCommitRequestTopic(
                f"{TOPIC}-{topic}",
                tuple(
                    OffsetCommitRequestPartition(index, offset, topic, metadata)
                    for offset, (where, index, metadata) in enumerate(partitions, first)
                    if where == topic
                ),
            )
            for topic in sorted({p[0] for p in partitions})
        )
        simple = generation > 20
        body = OffsetCommitRequest(
            GROUP_ID,
            -1 if simple else self.sketch.generation(self.group, generation),
            "" if simple else self.sketch.member(member),
            topics=topics,
        )
        self.do(self.sketch.request(body, version))

    @asks("OffsetFetch")
    @rule(
        version=versions,
        named=st.none()
        | st.lists(
            st.tuples(st.integers(0, 1), st.lists(st.integers(0, 2), max_size=4)), max_size=3
        ),
        stable=st.booleans(),
    )
    def fetch(
        self, version: int, named: list[tuple[int, list[int]]] | None, *, stable: bool
    ) -> None:
        """Committed offsets are asked for, all or those that are named, perhaps more than once."""
        topics = None
        if named is not None:
            topics = tuple(
                OffsetFetchRequestTopic(f"{TOPIC}-{topic}", tuple(indexes))
                for topic, indexes in named
            )
        self.do(self.sketch.request(OffsetFetchRequest(GROUP_ID, topics, stable), version))

    @asks("DescribeGroups")
    @rule(version=versions)
    def describe(self, version: int) -> None:
        """Somebody looks at the group."""
        self.do(self.sketch.request(DescribeGroupsRequest((GROUP_ID,)), version))

    @rule(timer=picks, around=st.sampled_from((0, 0, -1, 1)))
    def advance(self, timer: int, around: int) -> None:
        """Time passes, to one of the running timers or a millisecond before or after it."""
        group = self.group
        left = [m.session_left_ms for m in group.members if m.session_left_ms is not None]
        left += [p.left_ms for p in group.pending]
        left += [group.join_timer.left_ms] if group.join_timer else []
        left = [*sorted(set(left)), 1_000]
        self.do(Advance(max(left[timer % len(left)] + around, 0)))

    @precondition(lambda self: self.speaks.faults and not self.holding)
    @rule()
    def hold(self) -> None:
        """From now on appends do not complete."""
        self.do(HoldAppends())

    @precondition(lambda self: self.holding)
    @rule()
    def release(self) -> None:
        """The held appends complete."""
        self.do(ReleaseAppends())

    def teardown(self) -> None:
        """End the test."""
        if self.run is None:
            return
        for tell in self.tally:
            tell(len(self.run.exchanges))
        try:
            self.run.close()
        except FoundError as found:
            self._found(found)


def lockstep(  # noqa: PLR0913 - all of them settings, by name
    port: Port,
    profile: Profile,
    *,
    examples: int,
    steps: int,
    seed_number: int,
    known: set[tuple[str, ...]],
    tally: Callable[[int], None],
) -> Finding | None:
    """Run the state machine; the smallest finding that is not known yet, if there is one.

    A hang ends it at once, and is told as it was found.

    `tally` is told the steps of each test, those of shrinking included.
    """
    found: list[Finding] = []
    attributes = {
        "port": port,
        "profile": profile,
        "speaks": spoken(port, profile),
        "known": known,
        "tally": [tally],
        "found": found,
    }
    machine = seed(seed_number)(type("Lockstep", (CoordinatorMachine,), attributes))
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
    )
    with _storing_nothing(), with_reporter(lambda _text: None):
        try:
            run_state_machine_as_test(machine, settings=chosen)
        except (FoundError, HungError) as smallest:
            return smallest.finding
        except Flaky:  # the port does not do the same twice: then the shortest that was seen
            return min(found, key=lambda finding: len(finding.sequence.steps))
    return None


@contextmanager
def _storing_nothing() -> Iterator[None]:
    """What Hypothesis writes besides its database goes with the block, not to where one stands.

    It cannot be asked where it writes without deciding it, so its own variable is looked at.
    """
    before = vars(configuration).get("__hypothesis_home_directory")
    with TemporaryDirectory(prefix="groupcheck-", ignore_cleanup_errors=True) as directory:
        configuration.set_hypothesis_home_dir(directory)
        try:
            yield
        finally:
            configuration.set_hypothesis_home_dir(before)
