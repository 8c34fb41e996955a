"""Scenarios: inputs to a coordinator, run on the model and on the implementation.

A test asserts what the model answers. After the test the same inputs run on the built-in
coordinator, in every version that it implements, and the oracle checks each response and the inner
state (`tests/model/conftest.py`). So a scenario is written once.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from groupcheck.implementation.core.profiles import PROFILES as IMPLEMENTED
from groupcheck.model.config import SETTINGS, Config
from groupcheck.model.instances.inputs import GROUP_ID, PROTOCOLS
from groupcheck.model.state import Advance, Coordinator, Group, Log
from groupcheck.model.step import Outcome, Profile
from groupcheck.model.transition import Input, successors
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import (
    Assignment,
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    Request,
    RequestBody,
    SyncGroupRequest,
)
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence
from groupcheck.reports.text import story

SESSION_MS, REBALANCE_MS = 10_000, 4_000
DELAY: Final = Advance(3_000)


class Scenario(NamedTuple):
    """The inputs of one coordinator, in order."""

    profile: Profile
    config: Config
    steps: list[Input]


_scenarios: list[Scenario] = []


def scenario(profile: Profile, config: Config | None = None) -> list[Input]:
    """The inputs of a new scenario, to be appended to as they are given to the model."""
    steps: list[Input] = []
    _scenarios.append(Scenario(profile, config or profile.config, steps))
    return steps


def check_implementation() -> None:
    """Check the implementation against the model on all scenarios since the last call."""
    scenarios = _scenarios.copy()
    _scenarios.clear()
    for profile, config, steps in scenarios:
        if profile.name not in IMPLEMENTED or any(map(_names_another_group, steps)):
            continue
        broker = {name: getattr(config, name.replace(".", "_")) for name in SETTINGS}
        finding = replay(Sequence(profile.name, broker, tuple(steps)), BuiltinPort())
        assert finding is None, story(finding)


def _names_another_group(step: Input) -> bool:
    """Whether a commit creates a group that the oracle, which knows one group id, cannot see."""
    body = step.body if isinstance(step, Request) else None
    return isinstance(body, OffsetCommitRequest) and body.group_id != GROUP_ID


def join(member_id: str = "", **changed: Any) -> JoinGroupRequest:
    """A JoinGroup of a dynamic member, unless `changed` has an instance id."""
    body = JoinGroupRequest(GROUP_ID, SESSION_MS, REBALANCE_MS, member_id, protocols=PROTOCOLS)
    return body._replace(**changed)


def sync(member_id: str, generation_id: int = 1, part: bytes = b"part") -> SyncGroupRequest:
    """A SyncGroup that assigns the member something, in case it leads."""
    given = (Assignment(member_id, part),)
    return SyncGroupRequest(GROUP_ID, generation_id, member_id, None, "consumer", "range", given)


def heartbeat(member_id: str = "#1", generation_id: int = 1) -> HeartbeatRequest:
    """A Heartbeat."""
    return HeartbeatRequest(GROUP_ID, generation_id, member_id)


def leave(*member_ids: str) -> LeaveGroupRequest:
    """A LeaveGroup of these members."""
    return LeaveGroupRequest(GROUP_ID, tuple(map(MemberIdentity, member_ids)))


def partition_error(answer: Any) -> ErrorCode:
    """The error of the first partition of a response."""
    error: ErrorCode = answer.topics[0].partitions[0].error_code
    return error


def offset_of(answer: Any) -> int:
    """The committed offset of the first partition of an OffsetFetch response."""
    committed: int = answer.topics[0].partitions[0].committed_offset
    return committed


class Broker:
    """A coordinator; requests are numbered from 1 on.

    Args:
        profile: the version.
        numbers_steps: whether the id of a request is its place among all inputs, instead of among
            requests.
    """

    def __init__(self, profile: Profile, *, numbers_steps: bool = False) -> None:
        self.profile = profile
        self.state = Coordinator(log=Log())
        self.answers: dict[int, Any] = {}
        self.requests = 0
        self._numbers_steps = numbers_steps
        self._steps = scenario(profile)

    def do(self, *inputs: RequestBody | Input) -> Any:
        """Give inputs that have one outcome each; the last request's response, None without one.

        A body is sent in the newest version of the profile, a JoinGroup in the newest that does not
        require a member id; a `Request` in its own version.
        """
        for given in inputs:
            (outcome,) = self.outcomes(given)
            answers = answers_of(outcome)
            assert not answers.keys() & self.answers.keys(), "a request is answered once"
            self.answers |= answers
        return self.answers.get(self.requests)

    def outcomes(self, given: RequestBody | Input) -> list[Outcome]:
        """The outcomes that the model allows for an input; the first is the next state."""
        step = self._step(given)
        self._steps.append(step)
        outcomes = successors(self.state, step, self.profile, self.profile.config)
        self.state = outcomes[0].coordinator
        return outcomes

    def _step(self, given: Any) -> Input:
        api = type(given).__name__.removesuffix("Request")
        is_request = isinstance(given, Request) or api in self.profile.max_versions
        self.requests += self._numbers_steps or is_request
        if isinstance(given, Request):
            return given._replace(request_id=self.requests)
        if not is_request:
            step: Input = given
            return step
        version = min(self.profile.max_versions[api], 3 if api == "JoinGroup" else 99)
        return Request(self.requests, version, trim(given, version))

    @property
    def group(self) -> Group:
        """The group, which has to exist."""
        assert self.state.group is not None
        return self.state.group

    @property
    def state_name(self) -> str:
        """The group's state, by Kafka's name."""
        return self.group.state.value


def ends(profile: Profile, *inputs: RequestBody | Input) -> list[Outcome]:
    """The outcomes of the last input; the id of a request is its place among the inputs."""
    broker = Broker(profile, numbers_steps=True)
    return [broker.outcomes(given) for given in inputs][-1]


def end(profile: Profile, *inputs: RequestBody | Input) -> Outcome:
    """The only outcome of the last input."""
    (outcome,) = ends(profile, *inputs)
    return outcome


def run(profile: Profile, *inputs: RequestBody | Input) -> tuple[Coordinator, dict[int, Any]]:
    """The state after the inputs, and the responses by their requests' places among the inputs."""
    broker = Broker(profile, numbers_steps=True)
    broker.do(*inputs)
    return broker.state, broker.answers


def answers_of(outcome: Outcome) -> dict[int, Any]:
    """The responses of an outcome, by request id."""
    return {response.request_id: response.body for response in outcome.responses}


def group_of(outcome: Outcome) -> Group:
    """The group after an outcome, which has to exist."""
    group = outcome.coordinator.group
    assert group is not None
    return group


def group_state(state: Coordinator) -> GroupState | None:
    """The state of the group, None without one."""
    return state.group.state if state.group else None
