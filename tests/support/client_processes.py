"""Consumers of real client libraries, each in its own process: they leave, die or stall."""

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


def eventually(
    what: Callable[[], bool],
    why: Callable[[], object] = lambda: "",
    patience_s: float = PATIENCE_S,
) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + patience_s
    while not what():
        assert time.monotonic() < end, why()
        time.sleep(0.02)


class Consumer:
    """A consumer process that uses one library."""

    def __init__(self, library: str, address: str, group: str, topic: str, **settings: Any) -> None:
        self.library = library
        self.assigned: list[int] = []
        self.assignments: list[list[int]] = []  # all assignments so far
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
        self._errors: list[str] = []
        threading.Thread(target=self._read_errors, daemon=True).start()

    def commit(self, offset: int) -> None:
        """Commit an offset for each assigned partition."""
        self._tell(f"commit {offset}")
        assert self._answers.get(timeout=PATIENCE_S) == {"done": "commit"}

    def committed(self) -> dict[int, int]:
        """The committed offset of each assigned partition."""
        self._tell("committed")
        committed = self._answers.get(timeout=PATIENCE_S)["committed"]
        return {int(partition): offset for partition, offset in committed.items()}

    def leave(self) -> None:
        """Leave the group and end."""
        self._tell("leave")
        assert self._process.wait(PATIENCE_S) == 0, self._errors
        self.assigned = []

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait(PATIENCE_S)
        self.assigned = []

    def stall(self) -> None:
        """Stop the process, with its connections open."""
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Continue the process."""
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

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors = [*self._errors[-20:], line]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            # The reading threads have ended.
            stream.close()


class Group:
    """The consumers of one group."""

    def __init__(
        self, stack: ExitStack, address: str, name: str, topic: str, partitions: int
    ) -> None:
        self._stack = stack
        self.address = address
        self.name = name
        self.topic = topic
        self.partitions = list(range(partitions))

    def add(self, library: str, **settings: Any) -> Consumer:
        """Start another consumer."""
        consumer = Consumer(library, self.address, self.name, self.topic, **settings)
        return self._stack.enter_context(consumer)

    def wait_for_assignment(self, *consumers: Consumer) -> None:
        """Wait until each of these has partitions, and together they have all."""

        def assigned() -> bool:
            each = [c.assigned for c in consumers]
            return all(each) and sorted(p for own in each for p in own) == self.partitions

        eventually(assigned, lambda: [(c.library, c.assigned, c._errors) for c in consumers])


@contextmanager
def group(address: str, name: str, topic: str, partitions: int) -> Iterator[Group]:
    """A group; its consumers are killed afterwards."""
    with ExitStack() as stack:
        yield Group(stack, address, name, topic, partitions)
