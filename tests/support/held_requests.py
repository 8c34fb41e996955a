"""Holds requests of consumers until a test lets them pass, as a slow network does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial

from groupcheck.implementation.server.calls import Call
from support.serving import Served

Handle = Callable[[Call], None]


class HeldRequests:
    """What is between a running server and its clients, which are known by their client ids."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._shut: set[tuple[str, str]] = set()  # client and API
        self._held: defaultdict[tuple[str, str], list[Callable[[], None]]] = defaultdict(list)
        handlers = served.server.broker._handlers
        for api, handle in handlers.items():
            handlers[api] = partial(self._take, handle)

    def hold(self, api: str, *clients: str) -> None:
        """Hold such requests of these clients from now on."""
        self._shut.update((client, api) for client in clients)

    def holds(self, api: str, *clients: str) -> bool:
        """Whether such a request of each of these clients is held."""
        return all(self._held[client, api] for client in clients)

    def release(self, api: str, *clients: str) -> None:
        """Let such requests of these clients pass, first those that are held."""

        async def release() -> None:
            for client in clients:
                self._shut.discard((client, api))
                for handle in self._held.pop((client, api), ()):
                    handle()

        self._served.run(release())

    def _take(self, handle: Handle, call: Call) -> None:
        """Handle a request, now or later; the server's thread calls it."""
        if (call.client_id, call.api) in self._shut:
            self._held[call.client_id, call.api].append(partial(handle, call))
        else:
            handle(call)

    @property
    def held(self) -> list[tuple[str, str]]:
        """The client and the API of each request that is held."""
        return [kind for kind, waiting in self._held.items() for _ in waiting]
