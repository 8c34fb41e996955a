"""What a handler is given: one request, who sent it, and where its answer goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Reply = Callable[[Any], None]


class Client:
    """Who is at the other end of a connection, and under which address it reached this broker.

    It is `gone` when the connection is lost: nobody waits for its answers then.
    """

    __slots__ = ("gone", "host", "reached")

    def __init__(self, host: str, reached: tuple[str, int]) -> None:
        self.host = host
        self.reached = reached
        self.gone = False


class Call(NamedTuple):
    """A request. `reply` is called once, at once or later; None says that nothing is sent."""

    api: str
    api_version: int
    client_id: str
    client: Client
    body: Any
    reply: Reply
