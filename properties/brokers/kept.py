"""The programs of one broker, and the folder they run in, from the side of who starts them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from threading import Event, Lock
from typing import Final

from groupcheck.properties.brokers import keeper
from groupcheck.properties.ports.connection import WAKE_S, check
from groupcheck.properties.ports.port import PortFailedError
from groupcheck.properties.ports.program import Program

SAY_S: Final = 20.0  # how long the keeper, which does nothing that takes long, may take to answer
END_S: Final = 10.0
LAST_LINES: Final = 15
LAST_BYTES: Final = 8_192


class Kept:
    """Programs in a folder of their own, which go with this process, and with `close`.

    `folder` is theirs to write to, `pids` are the ids of those that were started, by name.

    Args:
        interrupted: once it is set, nothing is waited for any more.

    Raises:
        PortFailedError: there is no room for a folder, or none for a process.
    """

    def __init__(self, interrupted: Event) -> None:
        self._interrupted = interrupted
        self._lock = Lock()
        self._program = Program([sys.executable, str(Path(keeper.__file__))])
        self.pids: dict[str, int] = {}
        self._ended: dict[str, str] = {}
        try:
            self.folder = Path(self._program.line(time.monotonic() + SAY_S).decode())
        except (PortFailedError, TimeoutError) as error:
            said = self._program.end(0)
            kind, what = "port crashed", (said.splitlines() or ["no answer in time"])[-1]
            raise PortFailedError(kind, f"no folder for a broker: {what}") from error
        except BaseException:  # an interruption, say: the keeper is let remove what it has made
            self._program.end(END_S)
            raise

    def write(self, name: str, text: str) -> Path:
        """Write a file into the folder."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def start(self, name: str, argv: list[str]) -> None:
        """Start one more program; that it could not be is seen as its end."""
        line = json.dumps({"name": name, "argv": argv}) + "\n"
        with self._lock:
            self._program.send(line.encode(), time.monotonic() + SAY_S)

    def ended(self, name: str) -> str | None:
        """How the program of that name ended, its status or why it did not start, if it has."""
        with self._lock:
            while True:
                try:
                    words = self._program.line(time.monotonic() + 0.001).decode().split(" ", 2)
                except TimeoutError:
                    return self._ended.get(name)
                except PortFailedError as error:  # somebody ended the keeper, and so all
                    return str(error.reason)
                if words[0] == "started":
                    self.pids[words[1]] = int(words[2])
                else:
                    self._ended[words[1]] = words[2]

    def wait(self, name: str, deadline: float) -> str:
        """How a program ended that ends by itself.

        Raises:
            TimeoutError: it did not before the deadline.
            PortUnavailableError: that was interrupted.
        """
        while time.monotonic() < deadline:
            check(self._interrupted)
            status = self.ended(name)
            if status is not None:
                return status
            self._interrupted.wait(WAKE_S / 4)
        raise TimeoutError

    def log(self, name: str) -> list[str]:
        """The last lines that a program wrote."""
        try:
            with (self.folder / f"{name}.log").open("rb") as file:
                file.seek(max(0, file.seek(0, 2) - LAST_BYTES))
                return file.read().decode(errors="replace").splitlines()[-LAST_LINES:]
        except OSError:
            return []

    def close(self) -> None:
        """End all of it, and remove the folder; safe to call twice."""
        with self._lock:
            self._program.end(END_S)
