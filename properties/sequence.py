"""The one sequence type: what is done to a coordinator, from whatever source, and its JSON Lines.

Member ids are symbols: `#7` is the id that the coordinator told in its answer to request 7. A
sequence therefore says the same to every port.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from groupcheck.model.bodies import MalformedBodyError, decode_request, encode
from groupcheck.model.canonical import rename
from groupcheck.model.config import Config
from groupcheck.model.instance import GROUP_ID
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Advance, HoldAppends, ReleaseAppends
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import (
    REQUESTS,
    DescribeGroupsRequest,
    JoinGroupRequest,
    Request,
    RequestBody,
)

FORMAT = 1
FAULTS: dict[str, type[HoldAppends | ReleaseAppends]] = {
    "holdAppends": HoldAppends,
    "releaseAppends": ReleaseAppends,
}


class MalformedTraceError(ValueError):
    """A file is not a trace that groupcheck wrote, or not one this version can replay."""


class Sequence(NamedTuple):
    """A test: the profile it is judged by, the broker's settings, and the inputs in order."""

    profile: str
    broker: Mapping[str, int]
    steps: tuple[Input, ...]

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


def symbols_of(body: RequestBody) -> Iterator[str]:
    """The member symbols that a request uses."""
    candidates = [getattr(body, "member_id", "")]
    for field in ("assignments", "members"):
        candidates += [entry.member_id for entry in getattr(body, field, ())]
    return (name for name in candidates if name.startswith("#"))


def well_formed(steps: Iterable[Input]) -> bool:
    """Whether every symbol is that of an earlier JoinGroup without a member id."""
    known: set[str] = set()
    for step in steps:
        if isinstance(step, Request):
            if not known.issuperset(symbols_of(step.body)):
                return False
            if isinstance(step.body, JoinGroupRequest) and not step.body.member_id:
                known.add(f"#{step.request_id}")
    return True


def step_message(step: Input) -> dict[str, Any]:
    """A step as the port protocol's message, member ids as symbols."""
    if isinstance(step, Request):
        return {
            "type": "request",
            "id": step.request_id,
            "api": step.api,
            "apiVersion": step.api_version,
            "clientId": step.client_id,
            "clientHost": step.client_host,
            "body": encode(step.body, step.api_version),
        }
    if isinstance(step, Advance):
        return {"type": "advance", "ms": step.ms}
    name = next(name for name, kind in FAULTS.items() if isinstance(step, kind))
    return {"type": "fault", "fault": name}


def dump(sequence: Sequence) -> str:
    """The sequence as JSON Lines: a header, then a line for each step."""
    header = {
        "type": "open",
        "trace": FORMAT,
        "profile": sequence.profile,
        "config": dict(sequence.broker),
    }
    lines = [header, *map(step_message, sequence.steps)]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def load(path: Path) -> Sequence:
    """Read a trace back.

    Raises:
        MalformedTraceError: with the line and what is wrong with it.
        OSError: the file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        msg = f"{path}: not a text file in UTF-8"
        raise MalformedTraceError(msg) from error
    return parse(lines, str(path))


def parse(lines: Iterable[str], name: str) -> Sequence:
    """A sequence from the lines of a trace; `name` is said in errors.

    Raises:
        MalformedTraceError: with the line and what is wrong with it.
    """
    header: dict[str, Any] | None = None
    steps: list[Input] = []
    for number, line in enumerate(lines, 1):
        where = f"{name}:{number}"
        try:
            message = json.loads(line)
        except json.JSONDecodeError as error:
            msg = f"{where}: not a JSON object ({error.msg})"
            raise MalformedTraceError(msg) from error
        if header is None:
            header = _header(message, where)
        else:
            steps.append(_step(message, where))
    if header is None:
        msg = f"{name}: empty, not a trace"
        raise MalformedTraceError(msg)
    if not well_formed(steps):
        msg = f"{name}: a step uses the member id of a JoinGroup that is not before it"
        raise MalformedTraceError(msg)
    return Sequence(header["profile"], header["config"], tuple(steps))


def _header(message: object, where: str) -> dict[str, Any]:
    if not isinstance(message, dict) or message.get("trace") != FORMAT:
        msg = f"{where}: not the first line of a trace of format {FORMAT}"
        raise MalformedTraceError(msg)
    if message.get("profile") not in PROFILES:
        known = ", ".join(PROFILES)
        msg = f"{where}: unknown profile {message.get('profile')!r} (known: {known})"
        raise MalformedTraceError(msg)
    config = message.get("config")
    settings = {field.replace("_", ".") for field in Config._fields}
    if not isinstance(config, dict) or not all(
        name in settings and isinstance(value, int) for name, value in config.items()
    ):
        msg = f"{where}: config must map broker settings to integers"
        raise MalformedTraceError(msg)
    return message


def _step(message: object, where: str) -> Input:
    if not isinstance(message, dict):
        msg = f"{where}: not a JSON object"
        raise MalformedTraceError(msg)
    match message:
        case {"type": "advance", "ms": int(ms)} if ms >= 0:
            return Advance(ms)
        case {"type": "fault", "fault": str(name)} if name in FAULTS:
            return FAULTS[name]()
        case {"type": "request", "id": int(), "api": str(api), "apiVersion": int()}:
            if api in REQUESTS:
                return _request(message, where)
    msg = f"{where}: not a step that this version can replay: {json.dumps(message)[:80]}"
    raise MalformedTraceError(msg)


def _request(message: dict[str, Any], where: str) -> Request:
    version = message["apiVersion"]
    try:
        body = decode_request(message["api"], version, message.get("body"))
    except MalformedBodyError as error:
        msg = f"{where}: {error}"
        raise MalformedTraceError(msg) from error
    groups = body.groups if isinstance(body, DescribeGroupsRequest) else (body.group_id,)
    if not set(groups) <= {GROUP_ID, ""}:
        msg = f"{where}: a trace is about the one group {GROUP_ID!r}, not {groups[0]!r}"
        raise MalformedTraceError(msg)
    if _is_static(body):
        msg = f"{where}: static members (groupInstanceId) are not part of the model yet"
        raise MalformedTraceError(msg)
    return Request(
        message["id"],
        version,
        body,
        str(message.get("clientId", "client")),
        str(message.get("clientHost", "/127.0.0.1")),
    )


def _is_static(body: RequestBody) -> bool:
    entries = getattr(body, "members", ())
    return any(getattr(item, "group_instance_id", None) is not None for item in (body, *entries))
