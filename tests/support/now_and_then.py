"""A coordinator that knows no member, and claims to every fifth time."""

from __future__ import annotations

from typing import Any


class NowAndThen:
    """Answers UNKNOWN_MEMBER_ID to a heartbeat, but no error to the last of five."""

    def __init__(self) -> None:
        self._asked = 0

    def open(self, profile: str, _config: dict[str, int]) -> dict[str, str]:
        return {"name": "now and then", "version": profile}

    def request(self, request_id: int, *_rest: Any) -> list[dict[str, Any]]:
        self._asked += 1
        error_code = 0 if self._asked % 5 == 0 else 25
        return [{"type": "response", "id": request_id, "body": {"errorCode": error_code}}]

    def advance(self, ms: int) -> None:
        pass

    def fault(self, fault: str) -> list[dict[str, Any]]:
        return [{"type": "unsupported", "what": fault}]

    def close(self) -> None:
        pass


def make() -> NowAndThen:
    return NowAndThen()
