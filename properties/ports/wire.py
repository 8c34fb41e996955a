"""A coordinator behind Kafka's wire protocol, in real time; `codec` encodes the messages.

A broker answers the requests of one connection in order, and a JoinGroup that waits for the
rebalance blocks its connection: each request goes out on a connection with nothing in flight. If
possible that is the connection on which the member has joined, as with a client: some brokers
identify a member by its connection.
"""

from __future__ import annotations

import errno
import selectors
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from threading import Event
from time import monotonic
from types import MappingProxyType
from typing import Final

from groupcheck.model.classic.config import CLEANUP_INTERVAL
from groupcheck.model.classic.instances.inputs import TOPIC
from groupcheck.model.vocabulary import (
    NO_MEMBER_ID,
    EndTxnRequest,
    EndTxnResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    Request,
    RequestBody,
    Response,
    TxnOffsetCommitRequest,
)
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.connection import (
    WAKE_S,
    BootstrapClient,
    Connection,
    raise_if_interrupted,
)
from groupcheck.properties.ports.discovery import (
    BrokerInfo,
    BrokerInfoCache,
    CoordinatorUnreachableError,
    Given,
    discover,
)
from groupcheck.properties.ports.group_names import GroupNames
from groupcheck.properties.ports.health_check import Barrier
from groupcheck.properties.ports.messages import protocol_error
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    PortFailedError,
    PortInfo,
    PortUnavailableError,
)
from groupcheck.properties.ports.producers import Producers
from groupcheck.properties.ports.settings import BrokerSettings
from groupcheck.properties.ports.topics import Topics
from groupcheck.properties.tolerances import USUAL, Tolerances

CONNECT_S: Final = 5.0
ENOUGH_CONNECTIONS: Final = 8  # in a test; with so many, members share them
TRIES: Final = 3  # of a broker that this process can start again
LOCAL_ERRORS: Final = (errno.EMFILE, errno.ENFILE)  # out of sockets here, not the broker's failure


class WirePort:
    """The coordinator of a broker that speaks Kafka's wire protocol; implements `Port`.

    Each test has its own group, so that hundreds of tests can run on one broker in parallel; only
    the empty group id is shared. A test that needs other broker settings cannot be opened.

    Args:
        host: the host of any broker of the cluster.
        port: its port.
        tolerances: how long to wait for a response that must come, and after it for responses to
            other waiting requests; each further response extends the wait.
        newest_versions: upper limits of API versions, for a broker that advertises versions that
            it does not support.
        null_as_empty: see `codec.to_record`.
        settings: settings of the broker that override those it reports.
        topics: topics to use in place of those of tests, at most two.
        interrupted: when set, ends every wait with `PortUnavailableError`.
        broker_info: a cache shared with other ports. With it, connections with nothing in flight
            stay open for the next test, if the cluster has one broker.
        replaced: starts the broker at an address again if it hangs or has ended, and returns its
            address; for a broker that this process has started.
        released: called at shutdown, when the port no longer needs its broker.
    """

    real_time = True

    def __init__(  # noqa: PLR0913 (keyword settings with defaults)
        self,
        host: str,
        port: int,
        *,
        tolerances: Tolerances = USUAL,
        newest_versions: Mapping[str, int] | None = None,
        null_as_empty: bool = False,
        settings: Mapping[str, int] = MappingProxyType({}),
        topics: tuple[str, ...] = (),
        interrupted: Event | None = None,
        broker_info: BrokerInfoCache | None = None,
        replaced: Callable[[tuple[str, int]], tuple[str, int]] | None = None,
        released: Callable[[], None] = lambda: None,
    ) -> None:
        self._bootstrap = (host, port)
        self.tolerances = tolerances
        self._answer_s = tolerances.answer_ms / 1000
        self._grace_s = tolerances.grace_ms / 1000
        newest = codec.NEWEST_VERSIONS | dict(newest_versions or {})
        self._given = Given(settings, topics, newest)
        self._info = BrokerInfo((host, port), {}, {}, BrokerSettings({}), Topics({}), is_only=False)
        self._null_as_empty = null_as_empty
        self._interrupted = interrupted or Event()
        self._broker_info = broker_info
        self._replaced = replaced
        self._released = released
        self._reuses_connections = False
        self._connections: list[Connection[Request]] = []
        # In the test: those of members, those with a JoinGroup, and all that were used.
        self._of_members: dict[str, Connection[Request]] = {}
        self._joined: set[Connection[Request]] = set()
        self._used: set[Connection[Request]] = set()
        self._selector: selectors.BaseSelector | None = None
        self._barrier = Barrier(lambda: self._client(*self._info.address))
        self._producers = Producers(self._client, self._interrupted)
        self._names = GroupNames()
        self._opened_s = 0.0
        self._reported_ms = 0

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test: find the coordinator of an unused group.

        Raises:
            PortUnavailableError: it cannot be reached, does not speak Kafka's protocol, or has
                other settings than `config`.
        """
        del profile
        for left in reversed(range(TRIES)):
            try:
                self._open(config)
                break
            except PortUnavailableError:
                if self._replaced is None or not left:
                    raise
                if self._broker_info is not None:
                    self._broker_info.clear()
                self._bootstrap = self._replaced(self._bootstrap)
        newest = self._info.versions.get("JoinGroup")
        return PortInfo(_url(*self._bootstrap), f"JoinGroup up to version {newest}")

    def _open(self, config: Mapping[str, int]) -> None:
        self.close()
        with self._unavailable_on_failure():
            self._use_new_group().check(config)
            if self._selector is None:
                self._selector = selectors.DefaultSelector()
            if not self._connections:
                self._connect(self._selector)
            self._producers.open(self._info.address, self._info.topics.names[TOPIC])
        self._opened_s, self._reported_ms = monotonic(), 0

    @property
    def max_versions(self) -> Mapping[str, int] | None:
        """The highest version of each API that both sides support; None before the first test."""
        return self._info.versions or None

    def broker_settings(self) -> BrokerSettings:
        """Return the broker's settings, which decide what it has to do.

        Raises:
            PortUnavailableError: it cannot be reached, or does not speak Kafka's protocol.
        """
        with self._unavailable_on_failure():
            self._names = GroupNames()
            return self._discover().settings

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request, then wait for the `expected` responses and the grace period.

        Raises:
            PortFailedError: the broker closed or refused a connection, or sent no valid response.
        """
        if request.api_version < self._info.oldest.get(request.api, 0):
            return Observation(unsupported=f"{request.api} version {request.api_version}")
        why_not = self._info.topics.why_not(request)
        if why_not is not None:
            return Observation(unsupported=why_not)
        if isinstance(request.body, EndTxnRequest):
            return self._end_transaction(request.request_id, request.body, expected)
        try:
            message = codec.to_message(self._out(request.body), request.api_version)
        except codec.InexpressibleError as error:
            return Observation(unsupported=str(error))
        connection = self._free_connection(request.body)
        self._used.add(connection)
        if isinstance(request.body, JoinGroupRequest):
            self._joined.add(connection)
        connection.send(request, message, request.client_id)
        if request.request_id not in expected:
            self._barrier.wait()
        return self._observe([], expected)

    def _end_transaction(
        self, request_id: int, body: EndTxnRequest, expected: Collection[int]
    ) -> Observation:
        """Request a marker, and answer once the group has processed it."""
        if not body.group_id:
            return Observation(unsupported="EndTxn with an empty group id")
        group_id = self._names.real(body.group_id)
        error = self._producers.end(body.producer_id, group_id, committed=body.committed)
        return self._observe([Response(request_id, EndTxnResponse(error))], expected)

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Sleep for `ms` milliseconds and collect the responses meanwhile.

        Raises:
            PortFailedError: as for `request`.
        """
        responses: list[Response] = []
        self._collect_until(monotonic() + ms / 1000, responses)
        return self._observe(responses, expected)

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Wait for a cleanup if its interval is known; report every other fault as unsupported.

        Raises:
            PortFailedError: as for `request`.
        """
        interval_ms = self._given.settings.get(CLEANUP_INTERVAL)
        if fault.name == "cleanup" and interval_ms is not None:
            return self.advance(interval_ms + self.tolerances.late_ms, expected)
        return Observation(unsupported=fault.name)

    def close(self) -> None:
        """End the test: close the connections that the next test cannot use."""
        self._of_members.clear()
        self._joined.clear()
        self._used.clear()
        self._producers.close()
        if not self._reuses_connections or self._selector is None:
            self._disconnect()
            return
        # A connection with nothing in flight is readable only when the broker has closed it.
        ready = {key.fd for key, _ in self._selector.select(0)}
        for connection in list(self._connections):
            if connection.in_flight or connection.socket.fileno() in ready:
                self._selector.unregister(connection.socket)
                self._connections.remove(connection)
                connection.close()

    def shutdown(self) -> None:
        """End the test and close every connection."""
        self._disconnect()
        released, self._released = self._released, lambda: None
        released()

    def _disconnect(self) -> None:
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._barrier.close()
        self._producers.shutdown()
        if self._selector is not None:
            self._selector.close()
            self._selector = None

    @contextmanager
    def _unavailable_on_failure(self) -> Iterator[None]:
        """Turn every failure at the start into the reason why the broker cannot be tested."""
        try:
            yield
        except (
            OSError,
            UnicodeError,  # an invalid host name
            PortFailedError,
            PortUnavailableError,
            codec.MalformedAnswerError,
        ) as error:
            self._disconnect()
            msg = f"{_url(*self._bootstrap)} cannot be tested: {_reason(error)}"
            raise PortUnavailableError(msg) from error

    def _use_new_group(self) -> BrokerSettings:
        """Choose an unused group; return the settings of its coordinator, from the cache if any."""
        info = self._broker_info and self._broker_info.get()
        if not info or info.address != self._info.address:
            self._disconnect()
        self._names = GroupNames()
        self._reuses_connections = info is not None
        self._info = info or self._discover()
        return self._info.settings

    def _discover(self) -> BrokerInfo:
        try:
            info = discover(self._client, self._bootstrap, self._names.prefix, self._given)
        except CoordinatorUnreachableError as unreachable:
            where, why = _url(*unreachable.address), _reason(unreachable.error)
            msg = f"its coordinator at {where}: {why}"
            raise PortUnavailableError(msg) from unreachable
        if self._broker_info is not None and info.is_only:
            self._broker_info.put(info)
        return info

    def _client(self, host: str, port: int) -> BootstrapClient:
        return BootstrapClient(
            host,
            port,
            connect_s=CONNECT_S,
            answer_s=self._answer_s,
            interrupted=self._interrupted,
        )

    def _connect(self, selector: selectors.BaseSelector) -> Connection[Request]:
        # A connection may wait to be accepted until the broker has answered on it.
        connection: Connection[Request] = self._client(*self._info.address).established()
        self._connections.append(connection)
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        return connection

    def _free_connection(self, body: RequestBody) -> Connection[Request]:
        """The member's connection, or if it has none or waits on it, one without a JoinGroup.

        A JoinGroup needs one that the test has not used yet. If no other one can be opened,
        members share those that they have.
        """
        free = [each for each in self._connections if not each.in_flight]
        own = self._of_members.get(_member_id(body))
        if own in free:
            return own
        used = self._used if isinstance(body, JoinGroupRequest) else self._joined
        others = [each for each in free if each not in used]
        if len(self._connections) >= ENOUGH_CONNECTIONS:
            others = others or free
        if others:
            return others[0]
        try:
            return self._connect(self._open_selector())
        except OSError as error:
            if free:
                return free[0]
            what = f"cannot open another connection: {_reason(error)}"
            if error.errno in LOCAL_ERRORS:
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
        missing = set(expected) & {
            a.request_id for c in self._connections for a in c.in_flight.values()
        }
        self._collect_until(monotonic() + self._answer_s, responses, missing)
        self._collect_late(responses)
        # The difference of two sums in whole milliseconds, so that rounding errors do not add up.
        passed_ms = int((monotonic() - self._opened_s) * 1000)
        elapsed_ms, self._reported_ms = passed_ms - self._reported_ms, passed_ms
        return Observation(tuple(responses), elapsed_ms=elapsed_ms)

    def _collect_late(self, responses: list[Response]) -> None:
        """Collect responses for the grace period, and again for as long as some arrive.

        One timer may answer several requests. With nothing in flight there is no need to wait.
        """
        count = -1
        while count < len(responses):
            count = len(responses)
            grace_s = self._grace_s if any(c.in_flight for c in self._connections) else 0
            self._collect_until(monotonic() + grace_s, responses)

    def _collect_until(
        self, deadline: float, responses: list[Response], missing: set[int] | None = None
    ) -> None:
        """Collect responses until `deadline`, or until all `missing` ones have arrived."""
        selector = self._open_selector()
        while missing is None or missing:
            left_s = deadline - monotonic()
            raise_if_interrupted(self._interrupted)
            for key, _ in selector.select(min(max(left_s, 0), WAKE_S)):
                for request, answer in key.data.receive():
                    response = self._response(request, answer)
                    responses.append(response)
                    if isinstance(response.body, JoinGroupResponse) and response.body.member_id:
                        self._of_members[response.body.member_id] = key.data
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
        return Response(request.request_id, self._names.response(self._info.topics.response(body)))

    def _out(self, body: RequestBody) -> RequestBody:
        request = self._names.request(self._info.topics.request(body))
        if isinstance(request, TxnOffsetCommitRequest):
            producer = self._producers.begin(request.producer_id, request.group_id)
            request = request._replace(**producer.fields)
        return request


def _member_id(body: RequestBody) -> str:
    """The member that sends a request; the first one that leaves."""
    if isinstance(body, LeaveGroupRequest):
        return next((each.member_id for each in body.members), NO_MEMBER_ID)
    return getattr(body, "member_id", NO_MEMBER_ID)


def _url(host: str, port: int) -> str:
    return f"kafka://[{host}]:{port}" if ":" in host else f"kafka://{host}:{port}"


def _reason(error: Exception) -> str:
    if isinstance(error, PortFailedError):
        return error.reason
    if isinstance(error, TimeoutError):
        return "no response in time"
    return getattr(error, "strerror", None) or str(error)
