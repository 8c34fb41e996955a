"""The sequence type: the inputs of a coordinator, from any source, and their JSON Lines.

Member ids are symbols: `#7` is the id that the coordinator revealed in its answer to request 7. A
sequence therefore means the same for every port.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from groupcheck.model.bodies import (
    Json,
    MalformedBodyError,
    check_integer,
    check_string,
    decode_request,
    encode,
    shown,
)
from groupcheck.model.classic.config import SETTINGS
from groupcheck.model.classic.edits import MalformedEditError, as_json
from groupcheck.model.classic.exploring.canonical import rename
from groupcheck.model.classic.instances.inputs import GROUP_ID, NOBODY, EnvironmentInput
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.state import (
    Advance,
    Cleanup,
    Configure,
    Crash,
    FailAppends,
    HoldAppends,
    Load,
    Loading,
    ReleaseAppends,
    Shutdown,
    Unload,
)
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.edits import Edit
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    EndTxnRequest,
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    Request,
    RequestBody,
    Response,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)
from groupcheck.properties.deviations.deviating import deviating, deviations_of
from groupcheck.properties.ports.messages import fault_message, request_message
from groupcheck.properties.ports.port import Fault

Taken = TypeVar("Taken")

FORMAT = 1
# The faults that take no arguments, by their names in the port protocol.
FAULTS: dict[str, Callable[[], EnvironmentInput]] = {
    "holdAppends": HoldAppends,
    "releaseAppends": ReleaseAppends,
    "crash": Crash,
    "unload": Unload,
    "load": Load,
    "loading": Loading,
    "shutdown": Shutdown,
    "cleanup": Cleanup,
}
MOST_DIGITS = 20  # an int64 with its sign
MOST_BYTES = 64 * 1024 * 1024  # of a trace: some files have no end
# The APIs that reject the empty group id; for the others it is a valid id of another group.
NEED_A_NAME = (
    JoinGroupRequest,
    SyncGroupRequest,
    HeartbeatRequest,
    LeaveGroupRequest,
    TxnOffsetCommitRequest,
    EndTxnRequest,
    OffsetDeleteRequest,
)


class MalformedTraceError(ValueError):
    """A file is not a trace of groupcheck, or this version cannot replay it."""


class Sequence(NamedTuple):
    """A test: the profile that checks it, the broker's settings, and the inputs in order.

    `deviations` are edits of the profile: differences that they allow are no findings.
    """

    profile: str
    broker: Mapping[str, int]
    steps: tuple[Input, ...]
    deviations: tuple[Edit, ...] = ()

    @property
    def model(self) -> Profile:
        """The profile with the deviations."""
        return deviating(EVERY_PROFILE[self.profile], self.deviations)

    def renumbered(self) -> Sequence:
        """The same with request ids from 1 on, without gaps."""
        requests = [step for step in self.steps if isinstance(step, Request)]
        numbers = {request.request_id: n for n, request in enumerate(requests, 1)}
        symbols = {f"#{old}": f"#{new}" for old, new in numbers.items()}
        steps = tuple(
            step._replace(request_id=numbers[step.request_id], body=rename(step.body, symbols, 0))
            if isinstance(step, Request)
            else step
            for step in self.steps
        )
        return self._replace(steps=steps)


def member_ids(body: RequestBody) -> list[str]:
    """The member ids that a request uses, symbols or not."""
    member_ids = [getattr(body, "member_id", "")]
    for field in ("assignments", "members"):
        member_ids += [entry.member_id for entry in getattr(body, field, ())]
    return member_ids


def needed_ids(body: RequestBody) -> list[str]:
    """The ids that a client must know to send a request: not those in a leader's assignments.

    Kafka ignores unknown ids there.
    """
    return member_ids(body._replace(assignments=()) if isinstance(body, SyncGroupRequest) else body)


def symbols_of(body: RequestBody) -> Iterator[str]:
    """The member symbols that a request uses."""
    return filter(is_symbol, member_ids(body))


def is_symbol(member_id: str) -> bool:
    """Whether a member id is the symbol of one."""
    return member_id.startswith("#")


def well_formed(steps: Iterable[Input]) -> bool:
    """Whether every symbol refers to an earlier JoinGroup without a member id."""
    known: set[str] = set()
    for step in steps:
        if isinstance(step, Request):
            if not known.issuperset(symbols_of(step.body)):
                return False
            if isinstance(step.body, JoinGroupRequest) and not step.body.member_id:
                known.add(f"#{step.request_id}")
    return True


def step_message(step: Input) -> Json:
    """A step as the port protocol's message, member ids as symbols."""
    if isinstance(step, Request):
        return request_message(step)
    if isinstance(step, Advance):
        return {"type": "advance", "ms": step.ms}
    return fault_message(fault_of(step))


def fault_of(step: EnvironmentInput) -> Fault:
    """The port protocol's message for a fault."""
    if isinstance(step, FailAppends):
        return Fault("append", step.number, int(step.error))
    if isinstance(step, Configure):
        return Fault("configure", max_size=step.max_size)
    return Fault(next(name for name, fault in FAULTS.items() if fault is type(step)))


def dump(sequence: Sequence) -> str:
    """The sequence as JSON Lines: a header, then a line for each step."""
    return as_lines([header_message(sequence), *map(step_message, sequence.steps)])


def header_message(sequence: Sequence) -> Json:
    """The first line of a trace."""
    return {
        "type": "open",
        "trace": FORMAT,
        "profile": sequence.profile,
        "config": dict(sequence.broker),
        **({"deviations": list(map(as_json, sequence.deviations))} if sequence.deviations else {}),
    }


def response_message(response: Response, api_version: int) -> Json:
    """A response to a request of that version as the port protocol's message."""
    body = encode(response.body, api_version)
    return {"type": "response", "id": response.request_id, "body": body}


def as_line(message: Json) -> str:
    """A message as a line of JSON Lines, without the newline."""
    return json.dumps(message, separators=(",", ":"))


def as_lines(messages: Iterable[Json]) -> str:
    """The messages as JSON Lines."""
    return "".join(f"{as_line(each)}\n" for each in messages)


def load(path: Path) -> Sequence:
    """Read a trace back.

    Raises:
        MalformedTraceError: with the line and what is wrong with it.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        msg = f"{path}: longer than {MOST_BYTES} bytes, not a trace"
        raise MalformedTraceError(msg)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        msg = f"{path}: not a text file in UTF-8"
        raise MalformedTraceError(msg) from error
    return parse(text, str(path))


def parse(text: str, name: str) -> Sequence:
    """A sequence from the text of a trace; errors contain `name`.

    Raises:
        MalformedTraceError: with the line and what is wrong with it.
    """
    if not text.strip():
        msg = f"{name}: empty, not a trace"
        raise MalformedTraceError(msg)
    # Not splitlines, which also splits at characters that are valid in a JSON string.
    first, *rest = text.removesuffix("\n").split("\n")
    profile, broker = read_line(first, f"{name}:1", header)
    deviations = read_line(first, f"{name}:1", partial(excused, profile))
    numbers: set[int] = set()

    def step(message: Json) -> Input:
        taken = step_of(message, profile, numbers)
        if isinstance(taken, Request):
            numbers.add(taken.request_id)
        return taken

    steps = tuple(read_line(line, f"{name}:{n}", step) for n, line in enumerate(rest, 2))
    if not well_formed(steps):
        msg = f"{name}: a step uses the member id of a JoinGroup that is not before it"
        raise MalformedTraceError(msg)
    return Sequence(profile.name, broker, steps, deviations)


def read_line(line: str, where: str, take: Callable[[Json], Taken]) -> Taken:
    """The content of a line.

    Raises:
        MalformedTraceError: `take` rejects it; the message has `where` it is.
    """
    try:
        message = json.loads(line, parse_int=_whole)
        if not isinstance(message, dict):
            reason = "not a JSON object"
        else:
            return take(message)
    except json.JSONDecodeError as error:
        reason = f"not a JSON object ({error.msg})"
    except (MalformedBodyError, MalformedTraceError) as error:
        reason = str(error)
    except RecursionError:
        reason = "nested too deep"
    msg = f"{where}: {reason}"
    raise MalformedTraceError(msg)


def _whole(digits: str) -> int:
    """An integer; Python rejects very long ones with a message of its own."""
    if len(digits) > MOST_DIGITS:
        msg = f"a number of {len(digits)} digits"
        raise MalformedTraceError(msg)
    return int(digits)


def natural(value: object, path: str) -> int:
    """A number that the model can use: of 32 bits, and not negative."""
    number = check_integer(value, path)
    if number < 0:
        msg = f"{path}: expected at least 0, got {number}"
        raise MalformedTraceError(msg)
    return number


def header(message: Json) -> tuple[Profile, dict[str, int]]:
    """The profile and the broker's settings, of the first line of a trace.

    Raises:
        MalformedTraceError: it is not the first line of a trace.
    """
    if type(message.get("trace")) is not int or message["trace"] != FORMAT:
        msg = f"not the first line of a trace of format {FORMAT}"
        raise MalformedTraceError(msg)
    name, config = message.get("profile"), message.get("config")
    if not isinstance(name, str) or name not in EVERY_PROFILE:
        msg = f"unknown profile {shown(name)} (known: {', '.join(EVERY_PROFILE)})"
        raise MalformedTraceError(msg)
    if not isinstance(config, dict) or not config.keys() <= set(SETTINGS):
        known = ", ".join(sorted(SETTINGS))
        msg = f"config must map broker settings to numbers (known: {known})"
        raise MalformedTraceError(msg)
    return EVERY_PROFILE[name], {key: natural(config[key], f"config: {key}") for key in config}


def excused(profile: Profile, message: Json) -> tuple[Edit, ...]:
    """The deviations that a trace excuses, of its first line."""
    try:
        return deviations_of(profile, message.get("deviations", []))
    except MalformedEditError as error:
        msg = f"deviations: {error}"
        raise MalformedTraceError(msg) from error


def step_of(message: Json, profile: Profile, numbers: Container[int]) -> Input:
    """A step; `numbers` are the ids of the requests before it.

    Raises:
        MalformedTraceError: it is no step of this profile, or no member can send it.
        MalformedBodyError: the body of a request does not fit its API.
    """
    match message:
        case {"type": "advance"}:
            return Advance(natural(message.get("ms"), "ms"))
        case {"type": "fault", "fault": str(name)} if name in FAULTS:
            return FAULTS[name]()
        case {"type": "fault", "fault": "append"}:
            error = check_integer(message.get("error"), "error")
            return FailAppends(natural(message.get("count"), "count"), ErrorCode(error))
        case {"type": "fault", "fault": "configure", "config": {"group.max.size": size}} if (
            "failover/configured" in profile.rules
        ):
            return Configure(natural(size, "config: group.max.size"))
        case {"type": "request", "api": str(api)} if api in profile.max_versions:
            number = natural(message.get("id"), "id")
            request = new_request(message, number, numbers, profile)
            _check_in_the_model(request.body)
            return request
    msg = f"not a step that this version can replay: {shown(message)}"
    raise MalformedTraceError(msg)


def new_request(message: Json, number: int, known: Container[int], profile: Profile) -> Request:
    """The request of a line, whose `number` must not be in `known`.

    Raises:
        MalformedTraceError: it is, or the profile has no such request.
        MalformedBodyError: its body is not what its API has.
    """
    if number in known:
        msg = f"a second request with the id {number}"
        raise MalformedTraceError(msg)
    return request_of(message, number, profile)


def request_of(message: Json, number: int, profile: Profile) -> Request:
    """The request of a line, for any groups and members.

    Raises:
        MalformedTraceError: the profile has none like it.
        MalformedBodyError: its body is not what its API has.
    """
    api = message.get("api")
    if not isinstance(api, str) or api not in profile.max_versions:
        msg = f"api: not one of profile {profile.name}: {shown(api)}"
        raise MalformedTraceError(msg)
    version = check_integer(message.get("apiVersion"), "apiVersion")
    oldest, newest = profile.min_versions.get(api, 0), profile.max_versions[api]
    if not oldest <= version <= newest:
        msg = f"{api} has versions {oldest} to {newest} in profile {profile.name}, not {version}"
        raise MalformedTraceError(msg)
    body = decode_request(api, version, message.get("body"))
    client_id = check_string(message.get("clientId", "client"), "clientId")
    client_host = check_string(message.get("clientHost", "/127.0.0.1"), "clientHost")
    return Request(number, version, body, client_id, client_host)


def _check_in_the_model(body: RequestBody) -> None:
    """Reject requests that Kafka accepts and the model does not have."""
    groups = _groups(body)
    has_empty_id = groups == ("",) and (isinstance(body, NEED_A_NAME) or _changes_nothing(body))
    if groups != (GROUP_ID,) and not has_empty_id:
        others = shown(groups[0] if len(groups) == 1 else list(groups))
        msg = f"a trace is about the one group {GROUP_ID!r}, not {others}"
        raise MalformedTraceError(msg)
    # The port might have generated any other id, which the trace does not reveal.
    for member_id in member_ids(body):
        if member_id not in {"", NOBODY} and not member_id.startswith("#"):
            msg = f"a member id is that of a JoinGroup ('#7') or {NOBODY!r}, not {shown(member_id)}"
            raise MalformedTraceError(msg)
    if reason := outside_the_model(body):
        raise MalformedTraceError(reason)


def _changes_nothing(body: RequestBody) -> bool:
    """Whether the request creates no group, although its group id may be empty."""
    if isinstance(body, OffsetCommitRequest):
        return body.generation_id >= 0
    return isinstance(body, OffsetFetchRequest | DescribeGroupsRequest | DeleteGroupsRequest)


def outside_the_model(body: RequestBody) -> str | None:
    """Why the model does not have a request that Kafka accepts; None if it does."""
    if isinstance(body, JoinGroupRequest):
        names = [protocol.name for protocol in body.protocols]
        # Kafka counts such a vote twice and fails during the rebalance; a protocol without a name
        # is the same as no protocol.
        if len({"", *names}) <= len(names):
            return "a JoinGroup that names a protocol twice, or '', is not part of the model"
    return None


def _groups(body: RequestBody) -> tuple[str, ...]:
    """The groups that a request names; one for all groups is about the model's group."""
    match body:
        case DescribeGroupsRequest():
            return body.groups
        case DeleteGroupsRequest():
            return body.groups_names
        case ListGroupsRequest():
            return (GROUP_ID,)
        case _:
            return (body.group_id,)
