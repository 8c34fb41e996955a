"""A faulty copy of the built-in coordinator behind the in-process port interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.model.bodies import decode_request, encode
from groupcheck.model.vocabulary import Request
from groupcheck.properties.ports.port import Fault, Observation
from support.faults import faulty_port


class FaultyPythonPort:
    """Answers in JSON bodies, and shows no inner state."""

    def __init__(self, fault: str = "a follower is given the member list") -> None:
        self._port = faulty_port(fault)
        self._versions: dict[int, int] = {}

    def open(self, profile: str, config: dict[str, int]) -> dict[str, str]:
        self._port.open(profile, config)
        return {"name": "faulty", "version": "1"}

    def request(  # noqa: PLR0913, PLR0917 - the interface is so
        self,
        request_id: int,
        api: str,
        api_version: int,
        client_id: str,
        client_host: str,
        body: dict[str, Any],
    ) -> Iterator[dict[str, Any]]:
        self._versions[request_id] = api_version
        decoded = decode_request(api, api_version, body)
        request = Request(request_id, api_version, decoded, client_id, client_host)
        return self._messages(self._port.request(request, ()))

    def advance(self, ms: int) -> Iterator[dict[str, Any]]:
        return self._messages(self._port.advance(ms, ()))

    def fault(
        self,
        fault: str,
        count: int | None = None,
        error: int | None = None,
        config: dict[str, int] | None = None,
    ) -> Iterator[dict[str, Any]]:
        size = config["group.max.size"] if config else None
        return self._messages(self._port.fault(Fault(fault, count, error, size), ()))

    def close(self) -> None:
        self._port.close()

    def _messages(self, seen: Observation) -> Iterator[dict[str, Any]]:
        for request_id, body in seen.responses:
            version = self._versions[request_id]
            yield {"type": "response", "id": request_id, "body": encode(body, version)}


def make() -> FaultyPythonPort:
    return FaultyPythonPort()
