"""A smoke test: a dozen requests of one member, and the capabilities of the port.

It checks whether a port is connected correctly. It does not check the answers against the model.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from groupcheck.model.classic.config import Config
from groupcheck.model.classic.instances.inputs import (
    GROUP_ID,
    PRODUCER_ID,
    SUBSCRIBED_PROTOCOLS,
    TOPIC,
    commit,
    fetch,
    offset_delete,
    txn_commit,
)
from groupcheck.model.classic.step import Profile
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import (
    API_OF,
    Assignment,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    EndTxnRequest,
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    ListGroupsRequest,
    MemberIdentity,
    Request,
    RequestBody,
    ResponseBody,
    SyncGroupRequest,
)
from groupcheck.properties.generators.context import Capabilities, capabilities_by, capabilities_of
from groupcheck.properties.ports.port import (
    Observation,
    Port,
    PortFailedError,
    PortInfo,
    PortUnavailableError,
)
from groupcheck.properties.ports.source import PortSource

# Ports in virtual time need not wait for it; one that ignores the setting gets Kafka's default.
BROKER: Final = {"group.initial.rebalance.delay.ms": 0}
DELAY_MS: Final = 3_000
SESSION_MS: Final = 30_000  # if the port's limits allow it
NO_ANSWER: Final = "no answer"


class Member(NamedTuple):
    """The member, as the answers to its JoinGroup requests name it, and its session timeout."""

    session_ms: int
    member_id: str = ""
    generation_id: int = -1


# The requests in the order in which they are sent. A group that is subscribed to another topic may
# lose the offsets of this one; one without members may be deleted. Brokers get no EndTxn
# (transaction marker), which may take seconds. Without JoinGroup, errors are expected.
REQUESTS: Final[tuple[Callable[[Member], RequestBody], ...]] = (
    lambda m: JoinGroupRequest(
        GROUP_ID, m.session_ms, 60_000, m.member_id, protocols=SUBSCRIBED_PROTOCOLS
    ),
    lambda m: SyncGroupRequest(
        GROUP_ID,
        m.generation_id,
        m.member_id,
        protocol_type="consumer",
        protocol_name=SUBSCRIBED_PROTOCOLS[0].name,
        assignments=(Assignment(m.member_id, b"assigned"),),
    ),
    lambda m: HeartbeatRequest(GROUP_ID, m.generation_id, m.member_id),
    lambda m: commit(m.generation_id, m.member_id),
    lambda _m: fetch(require_stable=False),
    lambda m: txn_commit(m.generation_id, m.member_id),
    lambda _m: EndTxnRequest(GROUP_ID, PRODUCER_ID, committed=True),
    lambda _m: DescribeGroupsRequest((GROUP_ID,)),
    lambda _m: ListGroupsRequest(),
    lambda _m: offset_delete(TOPIC),
    lambda m: LeaveGroupRequest(GROUP_ID, (MemberIdentity(m.member_id),)),
    lambda _m: DeleteGroupsRequest((GROUP_ID,)),
)

Outcome = Literal["ok", "unsupported", "error", "failed"]


class Answered(NamedTuple):
    """The result of one request; `detail` has the error codes, or how the port failed."""

    api: str
    api_version: int
    outcome: Outcome
    detail: str
    milliseconds: float


class Smoked(NamedTuple):
    """The result. `info` is None if the port cannot be opened, and `reason` says why.

    `inner_state` says whether the port reported its inner state, `advances` whether its clock can
    be advanced. `capabilities` is None if the port failed.
    """

    info: PortInfo | None
    answers: tuple[Answered, ...] = ()
    capabilities: Capabilities | None = None
    inner_state: bool = False
    advances: bool = False
    reason: str = ""

    @property
    def connected(self) -> bool:
        """Whether the port answered, and no answer has an error."""
        outcomes = {each.outcome for each in self.answers}
        return "ok" in outcomes and outcomes <= {"ok", "unsupported"}

    @property
    def has_answered(self) -> bool:
        """Whether the port answered anything."""
        return any(each.outcome in {"ok", "error"} for each in self.answers)


def smoke(source: PortSource, profile: Profile) -> Smoked:
    """Send each request once to a port of the source.

    Raises:
        PortUnavailableError: the port cannot be reached.
    """
    port = source.connect()
    broker = source.broker_settings().values if source.real_time else BROKER
    try:
        test = _Test(port, profile, broker)
        try:
            info = port.open(profile.name, broker)
        except PortFailedError as failure:
            return Smoked(None, reason=str(failure))
        answers = tuple(test.run())
        if any(each.outcome == "failed" for each in answers):
            return Smoked(info, answers, inner_state=test.inner_state)
        advances = port.advance(1, ()).unsupported is None
        if source.real_time:
            capabilities = capabilities_by(port.max_versions, profile)
        else:
            capabilities = capabilities_of(port, profile)  # asks for all versions and faults
        return Smoked(info, answers, capabilities, test.inner_state, advances)
    finally:
        port.shutdown()


class _Test:
    """The requests on a port, which is opened with the settings `broker`."""

    def __init__(self, port: Port, profile: Profile, broker: Mapping[str, int]) -> None:
        self.inner_state = False
        self._broker = broker
        self._port = port
        self._profile = profile
        limits = Config.of(broker)
        least, most = limits.group_min_session_timeout_ms, limits.group_max_session_timeout_ms
        self._member = Member(min(max(SESSION_MS, least), most))
        self._sent = 0
        self._joins = True  # until it is known that the port has no JoinGroup
        self._not_sent = {"EndTxn"} if port.real_time else set[str]()

    def run(self) -> Iterator[Answered]:
        """Send the requests that the version has, until the port hangs or is not opened again."""
        todo = deque(REQUESTS)
        while todo:
            made, before = todo.popleft(), self._member
            api = API_OF[type(made(before))]
            if api not in self._profile.max_versions or api in self._not_sent:
                continue
            answered = self._answered(api, made)
            yield answered
            if answered.outcome == "failed" and not self._goes_on(answered):
                return
            # From version 4 of JoinGroup on a member gets its id first, and joins with it.
            if not before.member_id and self._member.member_id and self._member.generation_id < 0:
                todo.appendleft(made)

    def _goes_on(self, failed: Answered) -> bool:
        """Whether the port can get more requests after a failure; reopens it if needed."""
        if failed.detail == NO_ANSWER:
            return not self._port.real_time  # a port in real time waits for each answer
        if failed.detail.startswith("port hung"):
            return False
        try:
            self._port.open(self._profile.name, self._broker)
        except (PortFailedError, PortUnavailableError):
            return False
        return True

    def _answered(self, api: str, made: Callable[[Member], RequestBody]) -> Answered:
        """Send a request at the newest version that the port supports."""
        version, since = self._profile.max_versions[api], time.monotonic()

        def answered(outcome: Outcome, detail: str = "") -> Answered:
            return Answered(api, version, outcome, detail, 1_000 * (time.monotonic() - since))

        for version in capabilities_by(self._port.max_versions, self._profile).versions[api]:
            self._sent += 1
            since = time.monotonic()
            body = trim(made(self._member), version)
            try:
                seen = self._port.request(Request(self._sent, version, body), {self._sent})
                if seen.unsupported is not None:
                    continue
                response = _response(seen, self._sent) or self._waited_for()
            except PortFailedError as failure:
                return answered("failed", str(failure))
            self.inner_state |= seen.groups is not None
            if response is None:
                return answered("failed", NO_ANSWER)
            errors = tuple(dict.fromkeys(_errors(response)))
            detail = ", ".join(f"{each.name} ({int(each)})" for each in errors)
            if self._joined(response) and errors == (ErrorCode.MEMBER_ID_REQUIRED,):
                errors = ()
            return answered("error" if errors and self._joins else "ok", detail)
        self._joins &= api != "JoinGroup"
        return answered("unsupported")

    def _waited_for(self) -> ResponseBody | None:
        """The response once the initial delay is over, on a port that ignores its setting."""
        if self._port.real_time:
            return None
        return _response(self._port.advance(DELAY_MS, {self._sent}), self._sent)

    def _joined(self, response: ResponseBody) -> bool:
        """Learn the member's id and generation; whether it is an answer to a JoinGroup."""
        if not isinstance(response, JoinGroupResponse):
            return False
        self._member = self._member._replace(
            member_id=response.member_id, generation_id=response.generation_id
        )
        return True


def _response(seen: Observation, request_id: int) -> ResponseBody | None:
    return next((r.body for r in seen.responses if r.request_id == request_id), None)


def _errors(value: object) -> Iterator[ErrorCode]:
    """The error codes in a response, at any depth."""
    if isinstance(value, ErrorCode):
        if value is not ErrorCode.NONE:
            yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _errors(each)


def ranges(versions: Iterable[int]) -> str:
    """Versions as ranges: 0, 1, 2 and 5 as "0-2, 5"."""
    found: list[list[int]] = []
    for version in sorted(versions):
        if found and found[-1][-1] == version - 1:
            found[-1][1:] = [version]
        else:
            found.append([version])
    return ", ".join("-".join(map(str, each)) for each in found)
