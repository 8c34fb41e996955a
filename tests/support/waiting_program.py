"""The built-in coordinator as a program that waits before each answer.

`python waiting_program.py MILLISECONDS [FAULT]`: with the fault of that name, if there is one.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as a program it finds what tests share

from groupcheck.properties.ports.builtin import BuiltinPort
from support.faults import faulty_port
from support.object_port import ObjectPort

FIELDS = {
    "open": ("profile", "config"),
    "request": ("id", "api", "apiVersion", "clientId", "clientHost", "body"),
    "advance": ("ms",),
}


def port_of(wait_ms: float, fault: str = "") -> str:
    """The PORT argument for this program."""
    return f"exec:{shlex.join([sys.executable, __file__, str(wait_ms), *filter(None, [fault])])}"


def main(wait_s: float, fault: str = "") -> None:
    port = ObjectPort(faulty_port(fault) if fault else BuiltinPort())
    for line in sys.stdin:
        message = json.loads(line)
        kind = message.pop("type")
        time.sleep(wait_s)
        if kind == "fault":
            returned = port.fault(message.pop("fault"), **message)
        else:
            returned = getattr(port, kind)(*map(message.get, FIELDS.get(kind, ())))
        answers = [] if kind == "open" else returned or []
        done = {"type": "done", "port": returned} if kind == "open" else {"type": "done"}
        sys.stdout.write("".join(f"{json.dumps(each)}\n" for each in [*answers, done]))
        sys.stdout.flush()


if __name__ == "__main__":
    main(float(sys.argv[1]) / 1_000, *sys.argv[2:])
