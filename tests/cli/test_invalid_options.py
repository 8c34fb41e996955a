"""An invalid option is one line that names it, and has exit status 2."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

FORMS: Final = "it is one of: builtin"
SEEDS: Final = f"is not a whole number from 0 to {2**63 - 1}"

MESSAGES: Final = {
    "": "the following arguments are required: COMMAND",
    "conquer": "argument COMMAND: invalid choice: 'conquer'",
    "bench --profile 9.9": "9.9",
    "bench --instance outer": "outer",
    "bench --members 4": "from 1 to 3",
    "check folder --follow --checkpoint c --report r --save s": (
        "--save cannot be combined with --follow, which does not end"
    ),
    "explore --profile 9.9": "unknown profile '9.9'; known: 0.10.0",
    "explore --instance outer": (
        "unknown model instance 'outer'; known: membership, metadata, storing"
    ),
    "explore --witness sync/stabel": "no rule 'sync/stabel'; the nearest are sync/stable",
    "explore --members 0": "'0' is not a whole number from 1 to",
    "explore --max-states none": "--max-states",
    "explore --members 1 --instance metadata --max-states 7": "metadata has more than 7 states",
    "explore --features weather": "unknown feature 'weather'; known: time, metadata, ",
    "explore --profile 0.10.0 --features static-members": "has no static-members",
    "explore --features time --instance metadata": "not allowed with argument --features",
    "explore --generations 0": "--generations",
    **{
        f"explore --max-memory={size}": f"{size!r} is not a size such as 512m or 4g"
        for size in ("0", "4", "4x", "-1g", "1.5g", "0m")
    },
    "graph a.gif": "has to end in .svg, .dot, .mmd or .png",
    "graph a.svg --profile 9": "unknown profile '9'; known: ",
    "graph a.svg --instance no": "unknown model instance 'no'; known: ",
    "graph no/a.svg --members 1": "cannot write the graph to",
    "graph a.png": "PNG needs the package resvg-py: pip install 'groupcheck[png]'",
    "replay": "the following arguments are required: FILE",
    "rules --api Join": "unknown API or area 'Join'; known: JoinGroup, SyncGroup, ",
    "rules --state Lost": "unknown state 'Lost'; known: ",
    "rules --diff 2.7 1.0": "1.0",
    "rules --rule heartbeat/none": "no rule begins with 'heartbeat/none'",
    "rules --all": "--all needs --diff",
    "serve --listen 9092": "argument --listen: '9092' is not HOST:PORT",
    "serve --listen :9092": "argument --listen: ':9092' is not HOST:PORT",
    "serve --listen localhost:x": "argument --listen: 'localhost:x' is not HOST:PORT",
    "serve --listen localhost:65536": "argument --listen: 'localhost:65536' is not HOST:PORT",
    "serve --listen no..such:0": "cannot listen on no..such:0: there is no such host",
    "serve --listen 1.2.3.4:0": "cannot listen on 1.2.3.4:0: ",
    f"serve --listen {'x' * 100}:0": "cannot listen on xxx",
    "serve --topic name": "argument --topic: 'name' is not NAME:PARTITIONS",
    "serve --topic name:x": "argument --topic: 'name:x' is not NAME:PARTITIONS",
    "serve --topic name:0": "a topic has 1 to 1000 partitions, not 0",
    "serve --topic a?b:1": "no topic can have the name 'a?b'",
    "serve --profile 0.8": "no coordinator of profile '0.8'; known: 2.7",
    "serve --config nonsense=1": "unknown broker setting 'nonsense'; known: ",
    "serve --config group.max.session.timeout.ms=x": "is a number from 0 to 2147483647",
    "serve --record /nonexistent/file": "cannot record to /nonexistent/file: No such file",
    "verify": "the following arguments are required: PORT",
    "verify builtin --side-by-side 2": "--side-by-side is for programs (exec:)",
    "verify builtin --stage tours": "--stage is for live brokers with --sequences",
    "verify serve --sequences 9 --stage waits": "'waits' is no stage; stages: tours, timed-",
    "verify builtin --members four": "'four' is not a whole number from 1 to 3",
    "verify builtin --members 4": "'4' is not a whole number from 1 to 3",
    "verify builtin --steps 0": "'0' is not a whole number from 1 to 10000",
    "verify builtin --max-findings 0": "'0' is not a whole number from 1 to 1000",
    **{
        f"verify builtin --fail-under={text}": f"{text!r} is not a number from 0 to 100"
        for text in ("-1", "100.5", "nan", "most")
    },
    "verify builtin --skip crash,Offset": (
        "no API, fault or feature is named 'Offset'; known: JoinGroup, "
    ),
    **{
        f"verify builtin --time={text}": f"{text!r} is not a duration such as 60s, 5m or 1h"
        for text in ("60", "0s", "-1s", "1.5m", "s")
    },
    "verify builtin --colour": "unrecognized arguments: --colour",
    "verify builtin --profile 9.9": (
        "unknown profile '9.9'; known: 0.10.0, 0.10.2, 2.4, 2.5, 2.7, 2.8, 3.2, 3.6, 3.7, 3.9, 4.1"
    ),
    **{
        f"verify builtin --seed={text}": f"argument --seed: {text!r} {SEEDS}"
        for text in ("-1", "9223372036854775808", "1.5", "x")
    },
    f"verify builtin --seed={'9' * 5_000}": "argument --seed: '999",
    **{f"verify {port}": FORMS for port in ("nonsense", "python:", "exec", "kafka:9092")},
    "verify kafka://": "kafka://HOST:PORT",
    "verify python:no_such_package.module:factory": "no_such_package",
    "verify python:json:no_such_factory": "no_such_factory",
    "verify python:json:dumps": "json:dumps",
    "verify exec:./no-such-program": "no-such-program",
    "verify exec:cat --code .": "builtin or python:, not exec:cat",
    "verify builtin --code no/such": "cannot trace no/such: there is no such file or folder",
}


@pytest.mark.parametrize(("command", "message"), MESSAGES.items(), ids=range(len(MESSAGES)))
def test_an_invalid_option_is_one_line(
    command: str,
    message: str,
    error: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    monkeypatch.chdir(tmp_path)
    assert message in error(*filter(None, command.split(" ")))


def test_an_empty_port_is_one_line_with_the_known_forms(error: Callable[..., str]) -> None:
    assert FORMS in error("verify", "")
