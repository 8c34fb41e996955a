"""A program that runs other programs in a temporary folder and ends them when its parent ends.

It runs as a file, needs nothing of this package, and exchanges lines with its parent. First it
prints the folder it has created. Each line of its input is a JSON object with a `name` and an
`argv`: it starts that program in the folder, with output to NAME.log there. It prints
`started NAME PID`, and `ended NAME STATUS` when the program ends. When its standard input ends,
which happens whenever the parent ends, it kills all programs and removes the folder.
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

_PRINTING = threading.Lock()


def _print(*words: object) -> None:
    with _PRINTING, contextlib.suppress(OSError):  # the parent has ended
        sys.stdout.write(" ".join(map(str, words)) + "\n")
        sys.stdout.flush()


def _start(name: str, argv: list[str], folder: Path) -> subprocess.Popen[bytes]:
    with (folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 (the parent chooses it)
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder
        )
    _print("started", name, process.pid)
    threading.Thread(target=lambda: _print("ended", name, process.wait()), daemon=True).start()
    return process


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit


def main() -> None:
    """Run programs until standard input ends."""
    signal.signal(signal.SIGTERM, _stop)
    folder = Path(tempfile.mkdtemp(prefix="groupcheck-broker-"))
    programs: list[subprocess.Popen[bytes]] = []
    try:
        _print(folder)
        for line in sys.stdin:
            wanted = json.loads(line)
            try:
                programs.append(_start(wanted["name"], wanted["argv"], folder))
            except OSError as error:
                _print("ended", wanted["name"], error.strerror)
    finally:
        for program in reversed(programs):
            program.kill()
            program.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
