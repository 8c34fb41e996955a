"""The lockstep as a Hypothesis state machine: model and port are driven together.

Hypothesis chooses which rules run (a random subset in each test) and with what: members living
and dead, old generations, repeated requests, every version, time to the millisecond around each
timer. The spaces are narrower and walked whole; this is where what they leave out is met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import ClassVar

from hypothesis import HealthCheck, Phase, configuration, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.reporting import with_reporter
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from groupcheck.model.instance import GROUP_ID, NOBODY, TOPIC
from groupcheck.model.state import Advance, Group, HoldAppends, ReleaseAppends
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import (
    Assignment,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    Protocol,
    Request,
    RequestBody,
    SyncGroupRequest,
)
from groupcheck.properties.finding import Finding
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import FoundError, Run


class HungError(BaseException):
    """The port hung; no Exception, for Hypothesis would try those again, and wait each time."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.key)
        self.finding = finding


PROTOCOL_LISTS: tuple[tuple[Protocol, ...], ...] = (
    (Protocol("range", b"r"),),
    (Protocol("range", b"r"), Protocol("roundrobin", b"rr")),
    (Protocol("roundrobin", b"rr"), Protocol("range", b"r")),
    (Protocol("range", b"changed"),),
    (Protocol("sticky", b"s"),),
    (),
)
SESSION_TIMEOUTS_MS = (10_000, 6_000, 30_000, 5_999)
REBALANCE_TIMEOUTS_MS = (20_000, 3_000, 60_000, 400_000)

versions = st.integers(0, 20)  # folded into what the profile has
picks = st.integers(0, 30)  # folded into what there is to pick from


class Sketch:
    """Builds requests out of the present state; picks fold into what there is to pick from."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.request_id = 0
        self.given: list[str] = []  # every id that was ever told, the dead ones too

    def request(self, body: RequestBody, version: int, client: int = 0) -> Request:
        """The request at one of the profile's versions, the newest for pick 0."""
        self.request_id += 1
        api = type(body).__name__.removesuffix("Request")
        newest = self.profile.max_versions[api]
        oldest = 1 if api in {"OffsetCommit", "OffsetFetch"} else 0  # version 0 is ZooKeeper's
        api_version = newest - version % (newest - oldest + 1)
        if isinstance(body, LeaveGroupRequest) and api_version < 3:
            body = body._replace(members=body.members[:1])
        if isinstance(body, OffsetFetchRequest) and api_version < 2 and body.topics is None:
            body = body._replace(topics=())
        return Request(self.request_id, api_version, trim(body, api_version), f"client-{client}")

    def member(self, pick: int) -> str:
        """One of the ids that were ever told, the newest for pick 0, or one that never was."""
        return [*reversed(self.given), NOBODY][pick % (len(self.given) + 1)]

    def generation(self, group: Group, pick: int) -> int:
        """Mostly the current generation, else an old, a coming or no generation."""
        return (group.generation_id, group.generation_id, -1, group.generation_id + 1, 0)[pick % 5]


class CoordinatorMachine(RuleBasedStateMachine):
    """Drives one port; made concrete by `lockstep`."""

    port: ClassVar[Port]
    profile: ClassVar[Profile]
    broker: ClassVar[Mapping[str, int]]
    known: ClassVar[set[tuple[str, ...]]]
    tally: ClassVar[list[Callable[[int], None]]]
    found: ClassVar[list[Finding]]

    def __init__(self) -> None:
        super().__init__()
        self.sketch = Sketch(self.profile)
        self.over = False
        self.run: Run | None = None
        try:
            self.run = Run(self.port, self.profile, self.broker)
        except FoundError as found:
            self._found(found)

    @property
    def group(self) -> Group:
        """The group as the model has it, in one of the states that are left."""
        group = self.run.oracle.states[0].group if self.run else None
        return group or Group()

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

    @rule(
        version=versions, protocols=picks, session=picks, rebalance=picks, client=st.integers(0, 2)
    )
    def join(self, version: int, protocols: int, session: int, rebalance: int, client: int) -> None:
        """A member without an id joins."""
        body = JoinGroupRequest(
            GROUP_ID,
            SESSION_TIMEOUTS_MS[session % 4],
            REBALANCE_TIMEOUTS_MS[rebalance % 4],
            protocols=PROTOCOL_LISTS[protocols % 6],
        )
        self.do(self.sketch.request(body, version, client))

    @rule(member=picks, version=versions, protocols=picks, kind=picks)
    def join_again(self, member: int, version: int, protocols: int, kind: int) -> None:
        """A member joins with its id, unchanged unless `protocols` says otherwise."""
        member_id = self.sketch.member(member)
        known = self.group.member(member_id)
        offered = PROTOCOL_LISTS[protocols % 6]
        if known is not None and protocols < 10:
            offered = known.protocols
        protocol_type = "connect" if kind == 30 else "consumer"
        body = JoinGroupRequest(GROUP_ID, 10_000, 20_000, member_id, None, protocol_type, offered)
        self.do(self.sketch.request(body, version))

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

    @rule(member=picks, generation=picks, version=versions)
    def heartbeat(self, member: int, generation: int, version: int) -> None:
        """A member says that it is alive."""
        body = HeartbeatRequest(
            GROUP_ID, self.sketch.generation(self.group, generation), self.sketch.member(member)
        )
        self.do(self.sketch.request(body, version))

    @rule(members=st.lists(picks, min_size=1, max_size=3), version=versions)
    def leave(self, members: list[int], version: int) -> None:
        """Members leave, alone or in a batch, perhaps the same one twice."""
        body = LeaveGroupRequest(
            GROUP_ID, tuple(MemberIdentity(self.sketch.member(m)) for m in members)
        )
        self.do(self.sketch.request(body, version))

    @rule(
        member=picks,
        generation=picks,
        version=versions,
        partitions=st.lists(
            st.tuples(st.integers(0, 1), st.integers(0, 2), st.sampled_from((0, 0, 0, 9_000))),
            max_size=3,
            unique_by=lambda p: p[:2],
        ),
    )
    def commit(
        self, member: int, generation: int, version: int, partitions: list[tuple[int, int, int]]
    ) -> None:
        """Offsets are committed, by a member or by a consumer without a group."""
        topics = tuple(
            OffsetCommitRequestTopic(
                f"{TOPIC}-{topic}",
                tuple(
                    OffsetCommitRequestPartition(index, self.sketch.request_id, topic, "m" * length)
                    for where, index, length in sorted(partitions)
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

    @rule(version=versions, everything=st.booleans(), stable=st.booleans())
    def fetch(self, version: int, *, everything: bool, stable: bool) -> None:
        """Committed offsets are asked for."""
        topics = tuple(OffsetFetchRequestTopic(f"{TOPIC}-{i}", (0, 1, 2)) for i in range(2))
        body = OffsetFetchRequest(GROUP_ID, None if everything else topics, stable)
        self.do(self.sketch.request(body, version))

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

    @rule()
    def hold(self) -> None:
        """From now on appends do not complete."""
        if self.run is not None and not self.run.oracle.states[0].holding:
            self.do(HoldAppends())

    @rule()
    def release(self) -> None:
        """The held appends complete."""
        if self.run is not None and self.run.oracle.states[0].holding:
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
        "broker": {},
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
