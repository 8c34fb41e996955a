"""How large and fast the coordinator is, and how that grows: `python tests/bench/coordinator.py`.

In process, one core, the log discarded or in memory. Times are those of the processor, the
best of three, because a machine that does something else can only be slower; sizes are what
tracemalloc counts.
"""

from __future__ import annotations

import gc
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable
from itertools import count

from groupcheck.implementation import Config, Coordinator
from groupcheck.implementation.log.log import Completed
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.implementation.log.records import (
    Batch,
    OffsetCommitKey,
    OffsetCommitRecord,
    OffsetCommitValue,
)
from groupcheck.model.vocabulary import (
    Assignment,
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    Protocol,
    Request,
    SyncGroupRequest,
)

OFFER = b"\0\1\0\0\0\1\0\5topic\377\377\377\377\0\0\0\0"  # as a consumer's, of one topic
OFFERED = b"range"
GROUP_SIZE = 100
HEARTBEATS = 300_000
BEST_OF = 3


class NoLog:
    """A log that keeps nothing."""

    def append(self, partition: int, batch: Batch, completed: Completed) -> None:
        """Say that it is stored."""
        del partition, batch
        completed(ErrorCode.NONE)

    def read(self, partition: int) -> Iterable[Batch]:
        """Nothing."""
        del partition
        return ()


def say(what: str, figure: float, unit: str, note: str = "") -> None:
    """Print one figure."""
    print(f"{what:44} {figure:>13,.0f} {unit:12} {note}", flush=True)  # noqa: T201


def best(work: Callable[[], object], times: int = BEST_OF) -> float:
    """The shortest time of some, in seconds."""
    seconds = []
    for _ in range(times):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


def sized(work: Callable[[], object]) -> float:
    """How many bytes are there afterwards that were not there before."""
    gc.collect()
    tracemalloc.start()
    kept = work()
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return size


def coordinator() -> Coordinator:
    """One whose member ids are as long as Kafka's: a client id, a dash and a UUID."""
    numbers = count()
    return Coordinator(log=NoLog(), new_member_id=lambda prefix: f"{prefix}-{next(numbers):036}")


def filled(members: int, size: int = GROUP_SIZE) -> tuple[Coordinator, list[HeartbeatRequest]]:
    """Stable groups with so many members together, and a heartbeat of each."""
    made = coordinator()
    names = [f"group-{number}" for number in range(max(members // size, 1))]
    for number in range(members):
        made.receive(Request(number, 3, _join(names[number % len(names)]), *_client(number)))
    told = {r.request_id: r.body for ms in (3_000, 3_000) for r in made.advance(ms)}
    beats = []
    for number, answer in told.items():
        name, member_id = names[number % len(names)], answer.member_id  # type: ignore[union-attr]
        body = SyncGroupRequest(name, 1, member_id)
        if answer.members:  # type: ignore[union-attr]
            assigned = (Assignment(m[0], _bytes()) for m in answer.members)  # type: ignore[union-attr]
            body = body._replace(assignments=tuple(assigned))
        made.receive(Request(number, 0, body))
        beats.append(HeartbeatRequest(name, 1, member_id))
    return made, beats


def _join(group_id: str) -> JoinGroupRequest:
    # Each request is decoded by itself, so nothing in it is shared with another's.
    protocols = (Protocol(OFFERED.decode(), _bytes()),)
    return JoinGroupRequest(group_id, 45_000, 300_000, protocols=protocols)


def _client(number: int) -> tuple[str, str]:
    return f"client-{number}", f"/10.0.{number % 7}.{number % 256}"


def _bytes() -> bytes:
    return bytes(bytearray(OFFER))


def members() -> None:
    """What a member of a stable group takes, with the member id that the bench keeps too."""
    for number in (1_000, 100_000):
        size = sized(lambda number=number: filled(number)[0])  # type: ignore[misc]
        say(f"bytes per member, {number:,} of them", size / number, "bytes")


def heartbeats() -> None:
    """Heartbeats of members one after the other, of few or of very many."""
    first = 0.0
    for members in (1_000, 100_000, 1_000_000):
        made, beats = filled(members)
        requests = [Request(0, 4, beat) for beat in beats[:HEARTBEATS]]
        rounds = max(HEARTBEATS // len(requests), 1)

        def work(
            made: Coordinator = made, requests: list[Request] = requests, rounds: int = rounds
        ) -> None:
            receive = made.receive
            for _ in range(rounds):
                made.advance(1_000)
                for request in requests:
                    receive(request)

        gc.freeze()
        rate = rounds * len(requests) / best(work)
        first = first or rate
        say(f"heartbeats, {members:,} members", rate, "a second", f"{rate / first:.2f} times")
        gc.unfreeze()
        del made, beats, requests


def rebalance() -> None:
    """Join and sync of one group of 1,000 members."""
    say("join and sync of a group of 1,000", 1_000 * best(lambda: filled(1_000, 1_000)), "ms")


def commits() -> None:
    """Commits of one partition each, and what an offset takes."""
    made = coordinator()
    requests = [
        Request(number, 7, _commit(f"group-{number % 1_000}", (number // 1_000,)))
        for number in range(100_000)
    ]

    def work() -> None:
        for request in requests:
            made.receive(request)

    size = sized(work)
    say("bytes per offset, committed one by one", size / len(requests), "bytes")
    say("commits of one partition", len(requests) / best(work), "a second")
    batches = [Request(0, 7, _commit(f"many-{n}", range(100))) for n in range(1_000)]

    def together() -> None:
        for request in batches:
            made.receive(request)

    size = sized(together)
    say("bytes per offset, committed by the hundred", size / 100_000, "bytes")
    say("offsets committed by the hundred", 100_000 / best(together), "a second")


def _commit(group_id: str, partitions: Iterable[int]) -> OffsetCommitRequest:
    offsets = (OffsetCommitRequestPartition(index, 1_000_000 + index) for index in partitions)
    topics = (OffsetCommitRequestTopic("topic", tuple(offsets)),)
    return OffsetCommitRequest(group_id, topics=topics)


def load() -> None:
    """A log of 1,000,000 records is loaded."""
    log = MemoryLog()
    for number in range(1_000_000):
        key = OffsetCommitKey(f"group-{number % 1_000}", "topic", number // 1_000 % 500)
        record = OffsetCommitRecord(key, OffsetCommitValue(number, commit_timestamp_ms=number))
        log.append(0, Batch((record,)), lambda _error: None)
    gc.freeze()
    config = Config(offsets_topic_num_partitions=1)
    say("load of 1,000,000 records", 1_000 * best(lambda: Coordinator(config, log=log)), "ms")


if __name__ == "__main__":
    print(f"Python {sys.version.split()[0]}, {platform.machine()}, one core")  # noqa: T201
    rebalance()
    commits()
    load()
    members()
    heartbeats()
