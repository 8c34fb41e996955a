"""A Hypothesis state machine for the coordinator, written by hand: no model, no oracle.

It sends the requests that groupcheck's state machine sends most, with their versions and timeouts,
and checks no response. The speed of groupcheck's generators is compared with it.
"""

from __future__ import annotations

from itertools import count

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, rule, run_state_machine_as_test

from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.model.classic.instances.inputs import GROUP_ID, TOPIC
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import (
    Assignment,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    Protocol,
    Request,
    RequestBody,
    Response,
    SyncGroupRequest,
)
from groupcheck.properties.generators.context import (
    PROTOCOL_LISTS,
    REBALANCE_TIMEOUTS_MS,
    SESSION_TIMEOUTS_MS,
)

sessions = st.sampled_from(SESSION_TIMEOUTS_MS)
rebalances = st.sampled_from(REBALANCE_TIMEOUTS_MS)
protocol_lists = st.sampled_from(PROTOCOL_LISTS)
generations = st.integers(-1, 1)


class HandWritten(RuleBasedStateMachine):
    """Members join, sync, heartbeat, commit and leave."""

    members: Bundle[str] = Bundle("members")
    steps = 0

    def __init__(self) -> None:
        super().__init__()
        numbers = count(1)
        self.coordinator = Coordinator(new_member_id=lambda name: f"{name}-{next(numbers)}")
        self.requests = 0
        self.generation = 0

    def ask(self, version: int, body: RequestBody) -> list[Response]:
        """Send a request; returns the responses."""
        HandWritten.steps += 1
        self.requests += 1
        answers = self.coordinator.receive(Request(self.requests, version, trim(body, version)))
        for answer in answers:
            if isinstance(answer.body, JoinGroupResponse) and not answer.body.error_code:
                self.generation = answer.body.generation_id
        return answers

    @rule(
        target=members,
        version=st.integers(0, 7),
        session=sessions,
        rebalance=rebalances,
        protocols=protocol_lists,
    )
    def join(
        self, version: int, session: int, rebalance: int, protocols: tuple[Protocol, ...]
    ) -> str:
        body = JoinGroupRequest(GROUP_ID, session, rebalance, protocols=protocols)
        answers = self.ask(version, body)
        member_id: str = getattr(answers[0].body, "member_id", "") if answers else ""
        return member_id

    @rule(
        member=members,
        version=st.integers(0, 7),
        session=sessions,
        rebalance=rebalances,
        protocols=protocol_lists,
    )
    def join_again(
        self,
        member: str,
        version: int,
        session: int,
        rebalance: int,
        protocols: tuple[Protocol, ...],
    ) -> None:
        body = JoinGroupRequest(GROUP_ID, session, rebalance, member, protocols=protocols)
        self.ask(version, body)

    @rule(member=members, version=st.integers(0, 4), generation=generations)
    def sync(self, member: str, version: int, generation: int) -> None:
        assignments = (Assignment(member, b"part"),)
        body = SyncGroupRequest(
            GROUP_ID, self.generation + generation, member, assignments=assignments
        )
        self.ask(version, body)

    @rule(member=members, version=st.integers(0, 4), generation=generations)
    def heartbeat(self, member: str, version: int, generation: int) -> None:
        self.ask(version, HeartbeatRequest(GROUP_ID, self.generation + generation, member))

    @rule(member=members, version=st.integers(0, 4))
    def leave(self, member: str, version: int) -> None:
        self.ask(version, LeaveGroupRequest(GROUP_ID, (MemberIdentity(member),)))

    @rule(
        member=members,
        version=st.integers(1, 8),
        generation=generations,
        partition=st.integers(0, 2),
        offset=st.integers(0, 1_000),
    )
    def commit(
        self, member: str, version: int, generation: int, partition: int, offset: int
    ) -> None:
        topics = (
            OffsetCommitRequestTopic(TOPIC, (OffsetCommitRequestPartition(partition, offset),)),
        )
        generation_id = self.generation + generation
        self.ask(version, OffsetCommitRequest(GROUP_ID, generation_id, member, topics=topics))

    @rule(version=st.integers(2, 7))
    def fetch(self, version: int) -> None:
        self.ask(version, OffsetFetchRequest(GROUP_ID))

    @rule(version=st.integers(0, 5))
    def describe(self, version: int) -> None:
        self.ask(version, DescribeGroupsRequest((GROUP_ID,)))

    @rule(ms=st.sampled_from((1, 1_000, 3_000, 10_000, 20_000)))
    def advance(self, ms: int) -> None:
        HandWritten.steps += 1
        self.coordinator.advance(ms)


def run(examples: int, steps: int, number: int) -> int:
    """Run the state machine; returns the number of steps."""
    HandWritten.steps = 0
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seed(number)(HandWritten), settings=chosen)
    return HandWritten.steps
