"""What a handler gets: one request, the client that sent it, and how to reply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Reply = Callable[[Any], None]


class Client:
    """The client of a connection, and the address under which it reached this broker.

    It is `gone` when the connection is lost: its responses are not needed then.
    """

    __slots__ = ("gone", "host", "reached")

    def __init__(self, host: str, reached: tuple[str, int]) -> None:
        self.host = host
        self.reached = reached
        self.gone = False


class Call(NamedTuple):
    """A request. `reply` is called once, now or later; None means that nothing is sent."""

    api: str
    api_version: int
    client_id: str
    client: Client
    body: Any
    reply: Reply
