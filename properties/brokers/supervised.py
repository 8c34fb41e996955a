"""The programs of one broker and their temporary folder, for the process that starts them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from threading import Event, Lock
from typing import Final

from groupcheck.properties.brokers import supervisor
from groupcheck.properties.ports.connection import WAKE_S, raise_if_interrupted
from groupcheck.properties.ports.port import PortFailedError
from groupcheck.properties.ports.program import Program

ANSWER_S: Final = 20.0  # every operation of the supervisor is short
END_S: Final = 10.0
LAST_LINES: Final = 15
LAST_BYTES: Final = 8_192


class Supervised:
    """Programs in a temporary folder, which end with this process or with `close`.

    `folder` is writable; `pids` has the process ids of the started programs by name.

    Args:
        interrupted: when set, ends every wait.

    Raises:
        PortFailedError: the folder or the supervisor process cannot be created.
    """

    def __init__(self, interrupted: Event) -> None:
        self._interrupted = interrupted
        self._lock = Lock()
        self._program = Program([sys.executable, str(Path(supervisor.__file__))])
        self.pids: dict[str, int] = {}
        self._ended: dict[str, str] = {}
        try:
            self.folder = Path(self._program.line(time.monotonic() + ANSWER_S).decode())
        except (PortFailedError, TimeoutError) as error:
            stderr = self._program.end(0)
            kind, what = "port crashed", (stderr.splitlines() or ["no answer in time"])[-1]
            raise PortFailedError(kind, f"no folder for a broker: {what}") from error
        except BaseException:  # an interruption, say: the supervisor removes what it has created
            self._program.end(END_S)
            raise

    def write(self, name: str, text: str) -> Path:
        """Write a file into the folder."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def start(self, name: str, argv: list[str]) -> None:
        """Start another program; `ended` reports a program that cannot be started."""
        line = json.dumps({"name": name, "argv": argv}) + "\n"
        with self._lock:
            self._program.send(line.encode(), time.monotonic() + ANSWER_S)

    def ended(self, name: str) -> str | None:
        """Return a program's exit status, or why it did not start; None while it runs."""
        with self._lock:
            while True:
                try:
                    words = self._program.line(time.monotonic() + 0.001).decode().split(" ", 2)
                except TimeoutError:
                    return self._ended.get(name)
                except PortFailedError as error:  # the supervisor was killed, and so all programs
                    return str(error.reason)
                if words[0] == "started":
                    self.pids[words[1]] = int(words[2])
                else:
                    self._ended[words[1]] = words[2]

    def wait(self, name: str, deadline: float) -> str:
        """Return the exit status of a program that ends by itself.

        Raises:
            TimeoutError: it did not end before the deadline.
            PortUnavailableError: the wait was interrupted.
        """
        while time.monotonic() < deadline:
            raise_if_interrupted(self._interrupted)
            status = self.ended(name)
            if status is not None:
                return status
            self._interrupted.wait(WAKE_S / 4)
        raise TimeoutError

    def log(self, name: str) -> list[str]:
        """Return the last lines of a program's output."""
        try:
            with (self.folder / f"{name}.log").open("rb") as file:
                file.seek(max(0, file.seek(0, 2) - LAST_BYTES))
                return file.read().decode(errors="replace").splitlines()[-LAST_LINES:]
        except OSError:
            return []

    def close(self) -> None:
        """End all programs and remove the folder; safe to call twice."""
        with self._lock:
            self._program.end(END_S)
