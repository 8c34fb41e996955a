"""A program that keeps other programs and a folder of theirs: none of it outlives its starter.

It is run as a file, needs nothing of this package, and speaks in lines. First it says which folder
it has made. Each line that it reads is a JSON object with a `name` and an `argv`: that program is
started in the folder, and writes to NAME.log there. What is said of each is `started NAME PID`, and
`ended NAME STATUS` when it ends. When its standard input ends, as it does however the starter ends,
all are killed and the folder is removed.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

_SAYING = threading.Lock()


def _say(*words: object) -> None:
    with _SAYING, contextlib.suppress(OSError):  # whoever does not listen any more has ended
        sys.stdout.write(" ".join(map(str, words)) + "\n")
        sys.stdout.flush()


def _start(name: str, argv: list[str], folder: Path) -> subprocess.Popen[bytes]:
    with (folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 (what its starter wants)
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder
        )
    _say("started", name, process.pid)
    threading.Thread(target=lambda: _say("ended", name, process.wait()), daemon=True).start()
    return process


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit


def main() -> None:
    """Keep what is asked for until standard input ends."""
    signal.signal(signal.SIGTERM, _stop)
    folder = Path(tempfile.mkdtemp(prefix="groupcheck-broker-"))
    programs: list[subprocess.Popen[bytes]] = []
    try:
        _say(folder)
        for line in sys.stdin:
            wanted = json.loads(line)
            try:
                programs.append(_start(wanted["name"], wanted["argv"], folder))
            except OSError as error:
                _say("ended", wanted["name"], error.strerror)
    finally:
        for program in reversed(programs):
            program.kill()
            program.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
