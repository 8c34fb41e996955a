"""Ports of every kind whose coordinator answers each request with messages that a test chooses."""

from __future__ import annotations

import json
import shlex
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from groupcheck.model.bodies import decode_response
from groupcheck.model.vocabulary import HeartbeatRequest, Request
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.exec import ExecPort
from groupcheck.properties.ports.port import Port
from groupcheck.properties.ports.python import PythonPort
from groupcheck.properties.ports.wire import WirePort
from groupcheck.properties.tolerances import Tolerances
from support.wire_broker import Asked, Broker, serving

Message = dict[str, Any]
# The messages that answer the first request, the second one, and so on; the others get none.
Script = Sequence[Sequence[Message]]

HEARTBEAT = HeartbeatRequest("group", 1, "member")
VERSION = 3

# A program that runs %s at each request.
PROGRAM = """
import json, os, subprocess, sys, time
DONE = {"type": "done", "port": {"name": "scripted", "version": "3"}}
SCRIPT = json.load(open(sys.argv[1])) if sys.argv[1:] else []
def say(what):
    print(what if isinstance(what, str) else json.dumps(what), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "open":
        left = list(SCRIPT)
    if message["type"] == "request":
        for each in left.pop(0) if left else []:
            say(each)
%s
    say(DONE)
"""


def heartbeat(request_id: int = 1) -> Request:
    """The request of most tests."""
    return Request(request_id, VERSION, HEARTBEAT)


def response(request_id: object = 1, **body: object) -> Message:
    """The message with a response."""
    return {"type": "response", "id": request_id, "body": {"errorCode": 0, **body}}


class ScriptedObject:
    """An in-process port that follows a script."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._left: list[Sequence[Message]] = []

    def open(self, profile: str, config: dict[str, int]) -> object:
        del profile, config
        self._left = list(self._script)
        return {"name": "scripted", "version": "3"}

    def request(self, *_: object) -> Sequence[Message]:
        return self._left.pop(0) if self._left else ()

    def advance(self, ms: int) -> None:
        """Return no messages."""

    def fault(self, fault: str, **fields: object) -> None:
        """Return no messages."""

    def close(self) -> None:
        """Return no messages."""


class ScriptedBroker(Broker):
    """A broker that follows a script; requests are numbered in the order of their arrival."""

    def __init__(self, script: Script) -> None:
        super().__init__(self._act)
        self._script = script

    def _act(self, _: Asked) -> bytes:
        number = len(self.asked)
        sent: dict[socket.socket, bytes] = {}
        for message in self._script[number - 1] if number <= len(self._script) else ():
            asked, asker = self.asked[message["id"] - 1], self.askers[message["id"] - 1]
            api = asked.name.removesuffix("Request")
            body = decode_response(api, asked.version, message["body"])
            answer = codec.to_message(body, asked.version)
            answer.with_header(correlation_id=asked.header.correlation_id)
            sent[asker] = sent.get(asker, b"") + answer.encode(header=True, framed=True)
        for asker, data in sent.items():
            asker.sendall(data)
        return b""


@contextmanager
def scripted(kind: str, script: Script, folder: Path) -> Iterator[Port]:
    """A port of this kind: "exec", "python" or "wire"."""
    port: Port
    if kind == "exec":
        program, messages = folder / "port.py", folder / "script.json"
        program.write_text(PROGRAM % "", encoding="utf-8")
        messages.write_text(json.dumps(script), encoding="utf-8")
        command = shlex.join([sys.executable, str(program), str(messages)])
        port = ExecPort(command, limit_s=30.0)
        yield port
        port.shutdown()
    elif kind == "python":
        yield PythonPort(lambda: ScriptedObject(script), limit_s=30.0)
    else:
        with serving(ScriptedBroker(script)) as broker:
            port = WirePort("127.0.0.1", broker.port, tolerances=Tolerances(answer_ms=2_000))
            yield port
            port.shutdown()
