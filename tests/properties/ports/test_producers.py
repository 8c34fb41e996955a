"""Transactions over the wire, on scripted brokers and on this project's server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from groupcheck.model.classic.instances.inputs import GROUP_ID, PRODUCER_ID, fetch, txn_commit
from groupcheck.model.vocabulary import EndTxnRequest, ErrorCode, Request, RequestBody
from groupcheck.properties.ports import producers
from groupcheck.properties.ports.port import Observation, PortFailedError, PortUnavailableError
from groupcheck.properties.ports.source import port_source
from groupcheck.properties.ports.wire import WirePort
from groupcheck.properties.run import replay_seen
from groupcheck.properties.sequence import Sequence
from groupcheck.properties.tolerances import Tolerances
from support.served_process import served
from support.wire_broker import Asked, TransactionsBroker, serving

COMMIT = txn_commit(-1, "")
FETCH = fetch(require_stable=False)


def marker(*, committed: bool = True, group_id: str = GROUP_ID) -> EndTxnRequest:
    return EndTxnRequest(group_id, PRODUCER_ID, committed)


@pytest.fixture
def broker() -> Iterator[TransactionsBroker]:
    with serving(TransactionsBroker(late_s=0.2)) as started:
        yield started


@pytest.fixture
def port(broker: TransactionsBroker) -> Iterator[WirePort]:
    opened = WirePort("127.0.0.1", broker.port, tolerances=Tolerances(answer_ms=2_000))
    opened.open("2.7", {})
    yield opened
    opened.shutdown()


def ask(port: WirePort, body: RequestBody, version: int = 0) -> Observation:
    return port.request(Request(1, version, body), {1})


def offset(seen: Observation) -> int:
    return int(seen.responses[0].body.topics[0].partitions[0].committed_offset)  # type: ignore[union-attr]


@pytest.mark.parametrize("committed", [True, False])
def test_marker_is_answered_after_the_group_has_processed_it(
    port: WirePort, broker: TransactionsBroker, *, committed: bool
) -> None:
    ask(port, COMMIT)
    assert offset(ask(port, FETCH, 1)) == -1
    seen = ask(port, marker(committed=committed))
    assert seen.responses[0].body.error_code is ErrorCode.NONE  # type: ignore[union-attr]
    assert offset(ask(port, FETCH, 1)) == (6 if committed else -1)
    first = ["InitProducerId", "AddOffsetsToTxn", "TxnOffsetCommit", "OffsetFetch", "EndTxn"]
    assert broker.apis[:5] == first


def test_marker_without_a_commit_is_written_to_the_partition_of_the_group(
    port: WirePort, broker: TransactionsBroker
) -> None:
    ask(port, marker())
    added, end = broker.asked[1:3]
    assert added.name == "AddOffsetsToTxnRequest"
    assert added.group_id.endswith(GROUP_ID)
    assert end.name == "EndTxnRequest"
    assert end.committed


def test_open_transaction_is_aborted_at_close_and_the_next_test_has_a_new_epoch(
    port: WirePort, broker: TransactionsBroker
) -> None:
    for _ in range(2):
        ask(port, COMMIT)
        port.close()
        assert broker.asked[-1].name == "EndTxnRequest"
        assert not broker.asked[-1].committed
        port.open("2.7", {})
    assert list(broker.epochs.values()) == [1]


def test_transaction_coordinator_that_is_not_ready_is_retried(
    port: WirePort, broker: TransactionsBroker
) -> None:
    broker.errors = {"InitProducerId": [14, 15, 51], "AddOffsetsToTxn": [51, 16], "EndTxn": [51]}
    ask(port, COMMIT)
    seen = ask(port, marker())
    assert seen.responses[0].body.error_code is ErrorCode.NONE  # type: ignore[union-attr]
    assert broker.errors == {"InitProducerId": [], "AddOffsetsToTxn": [], "EndTxn": []}


def test_error_of_end_txn_is_the_answer_to_the_marker(
    port: WirePort, broker: TransactionsBroker
) -> None:
    broker.errors = {"EndTxn": [47]}
    assert ask(port, marker()).responses[0].body.error_code == 47  # type: ignore[union-attr]


@pytest.mark.parametrize("api", ["InitProducerId", "AddOffsetsToTxn"])
def test_rejected_producer_is_a_failure_of_the_port(
    port: WirePort, broker: TransactionsBroker, api: str
) -> None:
    broker.errors = {api: [48]}
    with pytest.raises(PortFailedError, match=f"{api} answered with ERROR_48"):
        ask(port, COMMIT)


def test_marker_that_is_never_processed_is_a_failure_of_the_port(
    port: WirePort, broker: TransactionsBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producers, "MARKER_S", 0.3)
    broker.offsets = _Forgetful()
    with pytest.raises(PortFailedError, match=r"a marker was not processed within 0.3 s"):
        ask(port, marker())


def test_transaction_coordinator_that_never_gets_ready_is_unavailable(
    port: WirePort, broker: TransactionsBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producers, "RETRY_S", 0.3)
    broker.errors = {"AddOffsetsToTxn": [51] * 100}
    with pytest.raises(PortUnavailableError, match=r"not ready for AddOffsetsToTxn after 0.3 s"):
        ask(port, marker())


class _Forgetful(dict[str, int]):
    def update(self, *_: object, **__: object) -> None:
        """Do nothing."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "why"),
    [(b"", "port hung: no response to InitProducerId in time"), (None, "closed the connection")],
)
def test_failure_of_the_transaction_coordinator_is_a_failure_of_the_port(
    port: WirePort, broker: TransactionsBroker, answer: bytes | None, why: str
) -> None:
    act = broker.answer

    def fail(asked: Asked) -> bytes | None:
        return answer if asked.name == "InitProducerIdRequest" else act(asked)

    broker.answer = fail
    with pytest.raises(PortFailedError, match=why):
        ask(port, COMMIT)


def test_waiting_for_a_marker_can_be_interrupted(broker: TransactionsBroker) -> None:
    broker.offsets = _Forgetful()
    interrupted = threading.Event()
    port = WirePort("127.0.0.1", broker.port, interrupted=interrupted)
    port.open("2.7", {})
    threading.Timer(0.3, interrupted.set).start()
    with pytest.raises(PortUnavailableError, match="interrupted"):
        ask(port, marker())
    port.shutdown()


def test_probe_group_has_the_same_coordinator_as_the_group_of_the_test(
    port: WirePort, broker: TransactionsBroker
) -> None:
    with serving(TransactionsBroker()) as other:
        speak = broker.respond

        def respond(asked: Asked) -> bytes | None:
            elsewhere = "probe-" in getattr(asked, "key", "") and not asked.key.endswith("-3")
            broker.coordinator = (
                (other if elsewhere else broker).host,
                (other if elsewhere else broker).port,
            )
            return speak(asked)

        broker.speak = respond
        try:
            ask(port, marker())
        finally:
            port.shutdown()
        assert broker.asked[-1].group_id.endswith("-3")
        assert other.asked == []


def test_broker_without_add_offsets_to_txn_has_no_transactions(broker: TransactionsBroker) -> None:
    del broker.versions[25]
    port = WirePort("127.0.0.1", broker.port)
    port.open("2.7", {})
    assert port.max_versions is not None
    assert {"TxnOffsetCommit", "EndTxn"}.isdisjoint(port.max_versions)
    port.shutdown()


def test_marker_with_an_empty_group_id_is_unsupported(port: WirePort) -> None:
    assert ask(port, marker(group_id="")).unsupported == "EndTxn with an empty group id"
    assert port.max_versions is not None
    assert port.max_versions["EndTxn"] == 0


def test_ports_do_not_end_each_others_transactions(tmp_path: Path) -> None:
    bodies: list[tuple[int, RequestBody]] = [(0, COMMIT), (1, FETCH), (0, marker()), (1, FETCH)]
    steps = tuple(Request(n, version, body) for n, (version, body) in enumerate(bodies, 1))
    with served(tmp_path / "data") as server:
        source = port_source(f"kafka://127.0.0.1:{server.port}")
        settings = source.broker_settings().values
        one, other = source.connect(), source.connect()
        one.open("2.7", settings)
        one.request(steps[0], {1})
        seen = replay_seen(Sequence("2.7", settings, steps), other)
        assert seen.finding is None
        assert [offset(seen.exchanges[n].seen) for n in (1, 3)] == [-1, 6]
        assert offset(one.request(Request(2, 1, FETCH), {2})) == -1
        one.request(Request(3, 0, marker(committed=False)), {3})
        assert offset(one.request(Request(4, 1, FETCH), {4})) == -1
        for port in (one, other):
            port.shutdown()
