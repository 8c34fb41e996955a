"""Consumers of real client libraries, each in its own process, and their possible fates."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

PROGRAM = Path(__file__).with_name("consume.py")
LIBRARIES = ("confluent-kafka", "kafka-python", "aiokafka")
# The same settings, as each library names them.
TIMES: dict[str, int] = {"session_timeout_ms": 10_000, "heartbeat_interval_ms": 150}
PATIENCE_S = 25.0


def eventually(what: Callable[[], bool], why: Callable[[], object] = lambda: "") -> None:
    """Wait until it is so."""
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, why()
        time.sleep(0.02)


class Consumer:
    """A consumer under a library of its own."""

    def __init__(self, library: str, address: str, group: str, topic: str, **settings: Any) -> None:
        self.library = library
        self.assigned: list[int] = []
        self.assignments: list[list[int]] = []  # all that there have been
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        said = json.dumps({**TIMES, **settings})
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM), library, address, group, topic, said],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._listen, daemon=True).start()
        self._complaints: list[str] = []
        threading.Thread(target=self._hear_complaints, daemon=True).start()

    def commit(self, offset: int) -> None:
        """Commit that offset for all that it has."""
        self._tell(f"commit {offset}")
        assert self._answers.get(timeout=PATIENCE_S) == {"done": "commit"}

    def committed(self) -> dict[int, int]:
        """What is committed for all that it has."""
        self._tell("committed")
        committed = self._answers.get(timeout=PATIENCE_S)["committed"]
        return {int(partition): offset for partition, offset in committed.items()}

    def leave(self) -> None:
        """Leave in good order."""
        self._tell("leave")
        assert self._process.wait(PATIENCE_S) == 0, self._complaints
        self.assigned = []

    def kill(self) -> None:
        """Die at once, without a word."""
        self._process.kill()
        self._process.wait(PATIENCE_S)
        self.assigned = []

    def stall(self) -> None:
        """Do nothing more, with all connections open."""
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Go on."""
        self._process.send_signal(signal.SIGCONT)

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            if "assigned" in answer:
                self.assigned = answer["assigned"]
                self.assignments.append(self.assigned)
            else:
                self._answers.put(answer)

    def _hear_complaints(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._complaints = [*self._complaints[-20:], line]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            # The threads that read have come to the end.
            stream.close()


class Group:
    """Consumers of one group, as many as are wanted."""

    def __init__(
        self, stack: ExitStack, address: str, name: str, topic: str, partitions: int
    ) -> None:
        self._stack = stack
        self.address = address
        self.name = name
        self.topic = topic
        self.partitions = list(range(partitions))

    def add(self, library: str, **settings: Any) -> Consumer:
        """One more."""
        consumer = Consumer(library, self.address, self.name, self.topic, **settings)
        return self._stack.enter_context(consumer)

    def settle(self, *consumers: Consumer) -> None:
        """Wait until these have every partition among them, each one of them some."""

        def settled() -> bool:
            each = [c.assigned for c in consumers]
            return all(each) and sorted(p for own in each for p in own) == self.partitions

        eventually(settled, lambda: [(c.library, c.assigned, c._complaints) for c in consumers])


@contextmanager
def group(address: str, name: str, topic: str, partitions: int) -> Iterator[Group]:
    """A group, all of whose consumers are gone afterwards."""
    with ExitStack() as stack:
        yield Group(stack, address, name, topic, partitions)
