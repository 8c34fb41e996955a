"""The arguments of a handler: one request, the client that sent it, and its reply callback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Reply = Callable[[Any], None]


class Client:
    """The client of a connection, and the address of this broker to which it connected.

    Responses are not needed any more once the client `is_disconnected`.
    """

    __slots__ = ("broker_address", "host", "is_disconnected")

    def __init__(self, host: str, broker_address: tuple[str, int]) -> None:
        self.host = host
        self.broker_address = broker_address
        self.is_disconnected = False


class Call(NamedTuple):
    """A request. The handler calls `reply` once, now or later, with None to send nothing."""

    api: str
    api_version: int
    client_id: str
    client: Client
    body: Any
    reply: Reply
