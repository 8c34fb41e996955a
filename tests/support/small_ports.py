"""Python ports of a few lines, without members."""

from __future__ import annotations

from typing import Any

Messages = list[dict[str, Any]]


class SmallPort:
    """Answers UNKNOWN_MEMBER_ID to every request, and supports no faults."""

    def open(self, profile: str, _config: dict[str, int]) -> dict[str, str]:
        return {"name": type(self).__name__, "version": profile}

    def request(self, request_id: int, _api: str, *_rest: Any) -> Messages:
        return [{"type": "response", "id": request_id, "body": {"errorCode": 25}}]

    def advance(self, ms: int) -> None:
        pass

    def fault(self, fault: str, **_fields: int) -> Messages:
        return [{"type": "unsupported", "what": fault}]

    def close(self) -> None:
        pass


class HeartbeatsOnly(SmallPort):
    """Supports only Heartbeat."""

    def request(self, request_id: int, api: str, *rest: Any) -> Messages:
        if api != "Heartbeat":
            return [{"type": "unsupported", "what": api}]
        return super().request(request_id, api, *rest)


class IntermittentPort(SmallPort):
    """Answers every fifth request without an error."""

    def __init__(self) -> None:
        self._requests = 0

    def request(self, request_id: int, api: str, *rest: Any) -> Messages:
        (message,) = super().request(request_id, api, *rest)
        self._requests += 1
        return [message if self._requests % 5 else {**message, "body": {"errorCode": 0}}]


class GoodHeartbeats(HeartbeatsOnly):
    """Answers each heartbeat as Kafka does while there is no group."""

    def request(self, request_id: int, api: str, *rest: Any) -> Messages:
        (message,) = super().request(request_id, api, *rest)
        if "body" in message and not rest[-1]["groupId"]:
            return [{**message, "body": {"errorCode": 24}}]
        return [message]


class Silent(SmallPort):
    """Answers nothing."""

    def request(self, _request_id: int, _api: str, *_rest: Any) -> Messages:
        return []


class Crashing(SmallPort):
    """Raises an exception at every request."""

    def request(self, _request_id: int, _api: str, *_rest: Any) -> Messages:
        msg = "not connected"
        raise RuntimeError(msg)


class Unopened(SmallPort):
    """Cannot be opened."""

    def open(self, _profile: str, _config: dict[str, int]) -> dict[str, str]:
        msg = "not connected"
        raise RuntimeError(msg)
