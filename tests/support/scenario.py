"""Scenarios: inputs to a coordinator, run on the model and on the implementation.

A test asserts what the model answers. After the test the same inputs run on the built-in
coordinator, in every version that it implements, and the oracle checks each response and the inner
state (`tests/model/classic/conftest.py`). So a scenario is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from groupcheck.implementation.core.profiles import PROFILES as IMPLEMENTED
from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.config import BROKER_SETTINGS, RETENTION, Config
from groupcheck.model.classic.exploring.group_graph import arrows_of_step, state_of
from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Advance, Coordinator, Group, Log
from groupcheck.model.classic.step import Outcome, Profile
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import ErrorCode, Protocol, Request, RequestBody, ResponseBody
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence
from groupcheck.reports.finding_text import text_of
from support.requests import OLD_JOIN, Call, Clients

T = TypeVar("T")

DELAY_MS: Final = 3_000
DELAY: Final = Advance(DELAY_MS)
COOPERATIVE = (Protocol("cooperative", b"topics"),)
SEVERAL = (*COOPERATIVE, Protocol("sticky", b"owned"))


class Scenario(NamedTuple):
    """The inputs of one coordinator, in order."""

    profile: Profile
    config: Config
    steps: list[Input]


_scenarios: list[Scenario] = []


def check_implementation() -> None:
    """Check the implementation against the model on all scenarios since the last call."""
    scenarios = _scenarios.copy()
    _scenarios.clear()
    for profile, config, steps in scenarios:
        if profile.name not in IMPLEMENTED or any(map(_names_another_group, steps)):
            continue
        settings = {
            name: getattr(config, name.replace(".", "_")) for name in (*BROKER_SETTINGS, RETENTION)
        }
        finding = replay(Sequence(profile.name, settings, tuple(steps)), BuiltinPort())
        assert finding is None, text_of(finding)


def _names_another_group(step: Input) -> bool:
    """Whether a commit creates a group that the oracle, which has one group id, does not track."""
    body = step.body if isinstance(step, Request) else None
    return isinstance(body, kafka.OffsetCommitRequest) and body.group_id != GROUP_ID


class Branch(NamedTuple):
    """One allowed behaviour: the state, and the responses so far by request id.

    `trail` are the states that the group has gone through, also several in one step.
    """

    coordinator: Coordinator
    answers: Mapping[int, ResponseBody]
    trail: tuple[str, ...] = ()

    @property
    def group(self) -> Group:
        """The group, which has to exist."""
        assert self.coordinator.group is not None, "there is no group"
        return self.coordinator.group


class Broker(Clients):
    """A broker that behaves as the model does, and its clients.

    Where Kafka allows several outcomes it has a branch for each; a test reads values that are equal
    in all branches. The id of a request is its number among the requests; if `numbers_steps`, its
    place among all inputs.

    Args:
        profile: the version. Requests have at most its versions.
        settings: of the broker, dots as underscores.
    """

    protocols = COOPERATIVE

    def __init__(self, profile: Profile = PROFILES["2.7"], /, **settings: int) -> None:
        self.profile = profile
        fields: dict[str, Any] = {"keeps_ages": True, **settings}
        self.config = profile.config._replace(**fields)
        self.branches = [Branch(Coordinator(log=Log()), {})]
        self.requests = 0
        self.numbers_steps = False
        self._steps: list[Input] = []
        _scenarios.append(Scenario(profile, self.config, self._steps))

    def do(self, *inputs: RequestBody | Input) -> Any:
        """Process inputs; the answer to the last request, None without one.

        A body is sent in the newest version of the profile, a JoinGroup in the newest that does not
        require a member id; a `Request` in its own version.
        """
        for given in inputs:
            self._take(given)
        return self.answer_to(self.requests)

    def _take(self, given: RequestBody | Input) -> None:
        answered = set.intersection(*(set(branch.answers) for branch in self.branches))
        answers = {number for outcome in self.outcomes(given) for number in answers_of(outcome)}
        assert answered.isdisjoint(answers), "a request is answered once"

    def outcomes(self, given: RequestBody | Input) -> list[Outcome]:
        """The outcomes that Kafka allows for an input, in all branches."""
        step = self._step(given)
        self._steps.append(step)
        found: list[Outcome] = []
        branches: list[Branch] = []
        for before in self.branches:
            outcomes = successors(before.coordinator, step, self.profile, self.config)
            found += outcomes
            for outcome in outcomes:
                branch = self._after(before, outcome)
                if branch not in branches:
                    branches.append(branch)
        self.branches = branches
        return found

    def _step(self, given: Any) -> Input:
        api = kafka.API_OF.get(type(given), "")
        is_request = isinstance(given, Request) or api in self.profile.max_versions
        self.requests += self.numbers_steps or is_request
        if isinstance(given, Request):
            return given._replace(request_id=self.requests)
        if not is_request:
            step: Input = given
            return step
        version = min(self.profile.max_versions[api], OLD_JOIN if api == "JoinGroup" else 99)
        return Request(self.requests, version, trim(given, version))

    def _after(self, before: Branch, outcome: Outcome) -> Branch:
        ends = state_of(before.coordinator), state_of(outcome.coordinator)
        arrows = arrows_of_step(self.profile, *ends, outcome.applied)
        trail = (*before.trail, *(arrow.target for arrow, _reason in arrows))
        return Branch(outcome.coordinator, {**before.answers, **answers_of(outcome)}, trail)

    def send(self, body: RequestBody, version: int = 0) -> Call[Any]:
        """Send a request in a version of its API, or the newest of the profile if that is older."""
        version = min(version, self.profile.max_versions[kafka.API_OF[type(body)]])
        self._take(Request(0, version, trim(body, version)))
        return Call(self, self.requests)

    def answer_to(self, request_id: int) -> Any:
        return self.agreed(lambda branch: branch.answers.get(request_id))

    def wait(self, ms: int) -> None:
        """Time passes."""
        self._take(Advance(ms))

    def agreed(self, look: Callable[[Branch], T]) -> T:
        """The common value of all branches."""
        first, *others = [look(branch) for branch in self.branches]
        assert all(other == first for other in others), f"open in Kafka: {[first, *others]}"
        return first

    def assume(self, holds: Callable[[Group], bool]) -> None:
        """Continue with the branches whose group satisfies this; there must be one."""
        self.branches = [branch for branch in self.branches if holds(branch.group)]
        assert self.branches, "Kafka does not allow it"

    @property
    def answers(self) -> Mapping[int, Any]:
        """The answers by request id."""
        return self.agreed(lambda branch: branch.answers)

    @property
    def coordinator(self) -> Coordinator:
        """The state of the coordinator."""
        return self.agreed(lambda branch: branch.coordinator)

    @property
    def group(self) -> Group:
        """The group, which has to exist."""
        return self.agreed(lambda branch: branch.group)

    @property
    def exists(self) -> bool:
        """Whether there is a group."""
        return self.agreed(lambda branch: branch.coordinator.group is not None)

    @property
    def state(self) -> str:
        """The group's state, by Kafka's name."""
        return self.agreed(lambda branch: branch.group.state.value)

    @property
    def trail(self) -> tuple[str, ...]:
        """The states that the group has gone through, by Kafka's names."""
        return self.agreed(lambda branch: branch.trail)

    @property
    def generation_id(self) -> int:
        """The group's generation."""
        return self.agreed(lambda branch: branch.group.generation_id)

    @property
    def member_ids(self) -> set[str]:
        """The ids of the group's members."""
        return self.agreed(lambda branch: {m.member_id for m in branch.group.members})

    @property
    def pending_ids(self) -> set[str]:
        """The ids that were returned with MEMBER_ID_REQUIRED and are not used yet."""
        return self.agreed(lambda branch: {p.member_id for p in branch.group.pending})

    def first_member(self, **request: Any) -> kafka.JoinGroupResponse:
        """A member joins a new group and is admitted when the initial delay is over."""
        call = self.join(**request)
        self.wait(self.config.group_initial_rebalance_delay_ms)
        assert call.answer.error_code is ErrorCode.NONE
        assert call.answer.leader == call.answer.member_id
        return call.answer

    def stable_member(self, **request: Any) -> kafka.JoinGroupResponse:
        """A member joins a new group and is admitted, and the group becomes stable."""
        member = self.first_member(**request)
        synced = self.sync(member.member_id, member.generation_id, {member.member_id: b"all"})
        assert synced.answer.error_code is ErrorCode.NONE
        assert self.state == "Stable"
        return member

    def pair(self, **request: Any) -> tuple[kafka.JoinGroupResponse, kafka.JoinGroupResponse]:
        """A leader and a follower of generation 2, before the assignments."""
        first = self.stable_member(**request)
        follower = self.join(**request)
        leader = self.join(first.member_id, **request)
        assert leader.answer.error_code is follower.answer.error_code is ErrorCode.NONE
        assert self.state == "CompletingRebalance"
        return leader.answer, follower.answer

    def static_pair(
        self, **request: Any
    ) -> tuple[kafka.JoinGroupResponse, kafka.JoinGroupResponse]:
        """A stable group of two static members: A, the leader, and B, which is assigned "odd"."""
        request = {"protocols": SEVERAL, **request}
        calls = [self.join(instance=instance, **request) for instance in ("A", "B")]
        self.wait(2 * self.config.group_initial_rebalance_delay_ms)
        leader, follower = (call.answer for call in calls)
        assert leader.leader == follower.leader == leader.member_id
        assignments = {leader.member_id: b"even", follower.member_id: b"odd"}
        for member in (leader, follower):
            synced = self.sync(member.member_id, 1, assignments)
            assert synced.answer.error_code is ErrorCode.NONE
        assert self.state == "Stable"
        return leader, follower


def run(profile: Profile, *inputs: RequestBody | Input) -> Broker:
    """A broker after these inputs; the id of a request is its position."""
    broker = Broker(profile)
    broker.numbers_steps = True
    broker.do(*inputs)
    return broker


def ends(profile: Profile, *inputs: RequestBody | Input) -> list[Outcome]:
    """The outcomes of the last input; the id of a request is its place among the inputs."""
    *before, last = inputs
    return run(profile, *before).outcomes(last)


def end(profile: Profile, *inputs: RequestBody | Input) -> Outcome:
    """The only outcome of the last input."""
    (outcome,) = ends(profile, *inputs)
    return outcome


def answers_of(outcome: Outcome) -> dict[int, Any]:
    """The responses of an outcome, by request id."""
    return {response.request_id: response.body for response in outcome.responses}


def group_of(outcome: Outcome) -> Group:
    """The group after an outcome, which has to exist."""
    group = outcome.coordinator.group
    assert group is not None
    return group
