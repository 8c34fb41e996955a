"""A port behind the methods that `python:` calls, which return the messages of the protocol."""

from __future__ import annotations

from typing import Any

from groupcheck.model.bodies import decode_request, encode
from groupcheck.model.vocabulary import Request
from groupcheck.properties.ports.port import Fault, Observation, Port


class ObjectPort:
    """Returns the responses of a port; it does not show the inner state."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self._versions: dict[int, int] = {}

    def open(self, profile: str, config: dict[str, int]) -> Any:
        self._port.open(profile, config)
        return {"name": "object", "version": "1"}

    def request(  # noqa: PLR0913, PLR0917 - the interface is so
        self,
        request_id: int,
        api: str,
        api_version: int,
        client_id: str,
        client_host: str,
        body: dict[str, Any],
    ) -> Any:
        self._versions[request_id] = api_version
        decoded = decode_request(api, api_version, body)
        request = Request(request_id, api_version, decoded, client_id, client_host)
        return self._returned("request", self._port.request(request, ()))

    def advance(self, ms: int) -> Any:
        return self._returned("advance", self._port.advance(ms, ()))

    def fault(self, fault: str, **fields: Any) -> Any:
        size = fields.get("config", {}).get("group.max.size")
        given = Fault(fault, fields.get("count"), fields.get("error"), size)
        return self._returned("fault", self._port.fault(given, ()))

    def close(self) -> Any:
        self._port.close()

    def _returned(self, call: str, seen: Observation) -> Any:  # noqa: ARG002 - for a subclass
        return [
            {"type": "response", "id": request_id, "body": encode(body, self._versions[request_id])}
            for request_id, body in seen.responses
        ]
