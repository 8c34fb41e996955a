"""A coordinator behind Kafka's wire protocol, in real time; how messages are encoded is not here.

A broker answers the requests of one connection in order, and one whose JoinGroup waits for the
rebalance is deaf until then: each request goes out on a connection that owes no answer.
"""

from __future__ import annotations

import errno
import selectors
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event
from time import monotonic
from types import MappingProxyType
from typing import Any, Final, cast
from uuid import uuid4

from groupcheck.model.config import BROKER_SETTINGS
from groupcheck.model.spaces.clients import OTHER_TOPIC, TOPIC
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    EndTxnRequest,
    EndTxnResponse,
    HeartbeatRequest,
    ListGroupsRequest,
    ListGroupsResponse,
    Request,
    RequestBody,
    Response,
    ResponseBody,
    TxnOffsetCommitRequest,
)
from groupcheck.properties.ports import codec, producers
from groupcheck.properties.ports.acquaintance import Acquaintance, Known
from groupcheck.properties.ports.connection import WAKE_S, Connection, Enquiry, check
from groupcheck.properties.ports.echo import Echo
from groupcheck.properties.ports.messages import protocol_error
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    PortFailedError,
    PortInfo,
    PortUnavailableError,
)
from groupcheck.properties.ports.producers import Producers
from groupcheck.properties.ports.settings import BrokerSettings, settings_of
from groupcheck.properties.windows import USUAL, Windows

OURS: Final = (errno.EMFILE, errno.ENFILE)  # no room for a socket here is no fault of a broker's
CLIENT_HOST: Final = "/127.0.0.1"  # what a test says it asks from, unless it says otherwise


class WirePort:
    """The coordinator of a broker that speaks Kafka's wire protocol; implements `Port`.

    Each test has a group of its own, so that hundreds may run on one broker side by side; only
    the group without a name is everyone's. The broker's settings are its own: a test for other
    ones cannot be opened on it.

    Args:
        host: of any broker of the cluster.
        port: its port.
        connect_timeout_ms: how long a connection may take.
        windows: how long an answer that must come is waited for, and how long after that to see
            whether parked requests are answered too; as long again if any are.
        newest_versions: API versions not to go beyond, for a broker that does not speak all that
            it says it does.
        null_as_empty: see `codec.to_record`.
        settings: the broker's, whatever it says itself.
        interrupted: ends whatever the port waits for, once it is set, with `PortUnavailableError`.
        acquaintance: what is known of the broker, shared with other ports. With it, connections
            that owe no answer are kept for the next test, if the broker is the only one.
    """

    real_time = True

    def __init__(  # noqa: PLR0913 (each has its unit in its name, and a default)
        self,
        host: str,
        port: int,
        *,
        connect_timeout_ms: int = 5_000,
        windows: Windows = USUAL,
        newest_versions: Mapping[str, int] | None = None,
        null_as_empty: bool = False,
        settings: Mapping[str, int] = MappingProxyType({}),
        interrupted: Event | None = None,
        acquaintance: Acquaintance | None = None,
    ) -> None:
        self.max_versions: Mapping[str, int] | None = None
        self._oldest: Mapping[str, int] = {}
        self._bootstrap = self._coordinator = (host, port)
        self._connect_s = connect_timeout_ms / 1000
        self.windows = windows
        self._answer_s = windows.answer_ms / 1000
        self._settle_s = windows.grace_ms / 1000
        self._newest_versions = codec.NEWEST_VERSIONS | dict(newest_versions or {})
        self._null_as_empty = null_as_empty
        self._settings = settings
        self._interrupted = interrupted or Event()
        self._acquaintance = acquaintance
        self._lasting = False  # whether connections are kept between tests
        self._connections: list[Connection[Request]] = []
        self._selector: selectors.BaseSelector | None = None
        self._echo = Echo(lambda: self._enquiry(*self._coordinator))
        self._producers = Producers(self._enquiry, self._interrupted)
        self._prefix = ""
        self._opened_s = 0.0
        self._told_ms = 0

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test: find the coordinator of a group that nobody has used.

        Raises:
            PortUnavailableError: it cannot be reached, does not speak Kafka's protocol, or has
                other settings than those of `config`.
        """
        del profile
        self.close()
        with self._reaching():
            self._meet().check(config)
            if self._selector is None:
                self._selector = selectors.DefaultSelector()
            if not self._connections:
                self._connect(self._selector)
            self._producers.open(self._coordinator)
        self._opened_s, self._told_ms = monotonic(), 0
        newest = (self.max_versions or {}).get("JoinGroup")
        return PortInfo(_url(*self._bootstrap), f"JoinGroup up to version {newest}")

    def broker_settings(self) -> BrokerSettings:
        """The settings by which the broker is to be judged.

        Raises:
            PortUnavailableError: it cannot be reached, or does not speak Kafka's protocol.
        """
        with self._reaching():
            return self._enquire()

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request, then wait for the answers that must come, and a moment longer.

        Raises:
            PortFailedError: the broker closed or refused a connection, or sent what is no answer.
        """
        if request.api_version < self._oldest.get(request.api, 0):
            return Observation(unsupported=f"{request.api} version {request.api_version}")
        if isinstance(request.body, EndTxnRequest):
            return self._end_transaction(request.request_id, request.body, expected)
        try:
            message = codec.to_message(self._out(request.body), request.api_version)
        except codec.InexpressibleError as error:
            return Observation(unsupported=str(error))
        self._free_connection().send(request, message, request.client_id)
        if request.request_id not in expected:
            self._echo.wait()
        return self._observe([], expected)

    def _end_transaction(
        self, request_id: int, body: EndTxnRequest, expected: Collection[int]
    ) -> Observation:
        """Have a marker written, which the group knows of by the time that this is answered."""
        if not body.group_id:
            return Observation(unsupported="EndTxn of a group without a name")
        group_id = self._real_group_id(body.group_id)
        error = self._producers.end(body.producer_id, group_id, committed=body.committed)
        return self._observe([Response(request_id, EndTxnResponse(error))], expected)

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Let time pass, taking what is answered meanwhile.

        Raises:
            PortFailedError: as for `request`.
        """
        responses: list[Response] = []
        self._take_until(monotonic() + ms / 1000, responses)
        return self._observe(responses, expected)

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Say that nothing can be made to happen to a broker from here."""
        del expected
        return Observation(unsupported=fault.name)

    def close(self) -> None:
        """End the test: let go of its connections, but for those that the next one can use."""
        self._producers.close()
        if not self._lasting or self._selector is None:
            self.shutdown()
            return
        # What can be read of a connection that owes nothing is that it is at its end.
        ready = {key.fd for key, _ in self._selector.select(0)}
        for connection in list(self._connections):
            if connection.owed or connection.socket.fileno() in ready:
                self._selector.unregister(connection.socket)
                self._connections.remove(connection)
                connection.close()

    def shutdown(self) -> None:
        """End the test, and keep nothing."""
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._echo.close()
        self._producers.shutdown()
        if self._selector is not None:
            self._selector.close()
            self._selector = None

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Say of whatever fails at the start that the broker cannot be tested, and why."""
        try:
            yield
        except (
            OSError,
            UnicodeError,  # a host whose name no host can have
            PortFailedError,
            PortUnavailableError,
            codec.MalformedAnswerError,
        ) as error:
            self.shutdown()
            msg = f"{_url(*self._bootstrap)} cannot be tested: {_reason(error)}"
            raise PortUnavailableError(msg) from error

    def _meet(self) -> BrokerSettings:
        """Begin with a group that nobody has used; the settings of its coordinator."""
        known = self._acquaintance and self._acquaintance.recall()
        if not known:
            self.shutdown()
            return self._enquire()
        if known.address != self._coordinator:
            self.shutdown()
        self._lasting = True
        self._prefix = _new_prefix()
        self._coordinator, self.max_versions, self._oldest, settings = known
        return settings

    def _enquire(self) -> BrokerSettings:
        """Find the coordinator of a group that nobody has used; its settings."""
        self._prefix = _new_prefix()
        self._lasting = False
        with self._enquiry(*self._bootstrap) as broker:
            broker.versions(self._newest_versions)
            coordinator = broker.coordinator(self._prefix)
            brokers = max(broker.create_topic(topic) for topic in (TOPIC, OTHER_TOPIC))
        self._coordinator = coordinator.host, coordinator.port
        try:
            # Its settings only it tells, and its versions may be others than the first one's.
            with self._enquiry(*self._coordinator) as broker:
                spoken = broker.versions({**producers.NEWEST, **self._newest_versions})
                self.max_versions = producers.as_modelled(spoken)
                self._oldest = broker.oldest(self.max_versions.keys() - {producers.MARKER})
                told = broker.settings(coordinator.node_id, BROKER_SETTINGS)
        except OSError as error:
            msg = f"its coordinator at {_url(*self._coordinator)}: {_reason(error)}"
            raise PortUnavailableError(msg) from error
        settings = settings_of(self._settings, told)
        if self._acquaintance is not None and brokers == 1:
            known = Known(self._coordinator, self.max_versions, self._oldest, settings)
            self._acquaintance.keep(known)
        return settings

    def _enquiry(self, host: str, port: int) -> Enquiry:
        return Enquiry(
            host,
            port,
            connect_s=self._connect_s,
            answer_s=self._answer_s,
            interrupted=self._interrupted,
        )

    def _connect(self, selector: selectors.BaseSelector) -> Connection[Request]:
        # Before a broker has answered on it, a connection may still wait to be accepted.
        connection: Connection[Request] = self._enquiry(*self._coordinator).known()
        self._connections.append(connection)
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        return connection

    def _free_connection(self) -> Connection[Request]:
        for connection in self._connections:
            if not connection.owed:
                return connection
        try:
            return self._connect(self._open_selector())
        except OSError as error:
            what = f"no further connection: {_reason(error)}"
            if error.errno in OURS:
                msg = f"{_url(*self._bootstrap)} cannot be tested: {what}"
                raise PortUnavailableError(msg) from error
            kind = "port crashed"
            raise PortFailedError(kind, what) from error

    def _open_selector(self) -> selectors.BaseSelector:
        if self._selector is None:
            msg = "the port is not open"
            raise ValueError(msg)
        return self._selector

    def _observe(self, responses: list[Response], expected: Collection[int]) -> Observation:
        missing = set(expected) & {a.request_id for c in self._connections for a in c.owed.values()}
        self._take_until(monotonic() + self._answer_s, responses, missing)
        self._settle(responses)
        # The difference of two sums in whole milliseconds, so that no remainder is ever lost.
        passed_ms = int((monotonic() - self._opened_s) * 1000)
        elapsed_ms, self._told_ms = passed_ms - self._told_ms, passed_ms
        return Observation(tuple(responses), elapsed_ms=elapsed_ms)

    def _settle(self, responses: list[Response]) -> None:
        """Take what comes a moment later; where an answer came, wait for as long again.

        For one timer may answer several requests. Where no answer is owed there is none to wait
        for, so it ends.
        """
        taken = -1
        while taken < len(responses):
            taken = len(responses)
            settle_s = self._settle_s if any(c.owed for c in self._connections) else 0
            self._take_until(monotonic() + settle_s, responses)

    def _take_until(
        self, deadline: float, responses: list[Response], missing: set[int] | None = None
    ) -> None:
        """Take answers until `deadline`, or until none is missing of those that are named."""
        selector = self._open_selector()
        while missing is None or missing:
            left_s = deadline - monotonic()
            check(self._interrupted)
            for key, _ in selector.select(min(max(left_s, 0), WAKE_S)):
                for request, answer in key.data.receive():
                    responses.append(self._response(request, answer))
                    if missing is not None:
                        missing.discard(request.request_id)
            if left_s <= 0:
                return

    def _response(self, request: Request, answer: bytes) -> Response:
        try:
            body = codec.answer_body(
                request.api, request.api_version, answer, null_as_empty=self._null_as_empty
            )
        except codec.MalformedAnswerError as error:
            protocol_error(str(error))
        return Response(request.request_id, self._in(body))

    def _out(self, body: RequestBody) -> RequestBody:
        if isinstance(body, DescribeGroupsRequest):
            return DescribeGroupsRequest(tuple(map(self._real_group_id, body.groups)))
        if isinstance(body, DeleteGroupsRequest):
            return DeleteGroupsRequest(tuple(map(self._real_group_id, body.groups_names)))
        if isinstance(body, ListGroupsRequest):
            return body
        if isinstance(body, TxnOffsetCommitRequest):
            group_id = self._real_group_id(body.group_id)
            producer = self._producers.begin(body.producer_id, group_id)
            return body._replace(group_id=group_id, **producer.named)
        named = cast("HeartbeatRequest", body)
        return named._replace(group_id=self._real_group_id(named.group_id))

    def _real_group_id(self, group_id: str) -> str:
        # What Kafka does about a group without a name is to be seen, so it stays without one.
        return self._prefix + group_id if group_id else ""

    def _in(self, body: ResponseBody) -> ResponseBody:
        """The answer as if group id and client host had been the test's choice."""
        if isinstance(body, DeleteGroupsResponse):
            return DeleteGroupsResponse(self._renamed(body.results))
        if isinstance(body, ListGroupsResponse):  # of groups of other tests nothing is known
            ours = (group for group in body.groups if group.group_id.startswith(self._prefix))
            return body._replace(groups=self._renamed(ours))
        if not isinstance(body, DescribeGroupsResponse):
            return body
        groups = []
        for group in self._renamed(body.groups):
            members = (m._replace(client_host=m.client_host and CLIENT_HOST) for m in group.members)
            groups.append(group._replace(members=tuple(members)))
        return DescribeGroupsResponse(tuple(groups))

    def _renamed(self, groups: Iterable[Any]) -> tuple[Any, ...]:
        """Records of groups, under the names that the test has for them."""
        return tuple(g._replace(group_id=g.group_id.removeprefix(self._prefix)) for g in groups)


def _new_prefix() -> str:
    return f"groupcheck-{uuid4().hex}-"


def _url(host: str, port: int) -> str:
    return f"kafka://[{host}]:{port}" if ":" in host else f"kafka://{host}:{port}"


def _reason(error: Exception) -> str:
    if isinstance(error, PortFailedError):
        return error.reason
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return getattr(error, "strerror", None) or str(error)
