"""A coordinator that supports only Heartbeat, and knows no member."""

from __future__ import annotations

from typing import Any


class HeartbeatsOnly:
    """Answers UNKNOWN_MEMBER_ID to every heartbeat."""

    def open(self, profile: str, _config: dict[str, int]) -> dict[str, str]:
        return {"name": "heartbeats only", "version": profile}

    def request(self, request_id: int, api: str, *_rest: Any) -> list[dict[str, Any]]:
        if api != "Heartbeat":
            return [{"type": "unsupported", "what": api}]
        return [{"type": "response", "id": request_id, "body": {"errorCode": 25}}]

    def advance(self, ms: int) -> None:
        pass

    def fault(self, fault: str) -> list[dict[str, Any]]:
        return [{"type": "unsupported", "what": fault}]

    def close(self) -> None:
        pass


def make() -> HeartbeatsOnly:
    return HeartbeatsOnly()
