"""Run the exhaustive tests and record it: `python tests/support/record_exhaustive.py [--jobs N]`.

They are the expensive tests of the model alone, and the longest seeded faults. They run after a
change of what they check, not in every CI run: a default test compares the digests of its sources
that were recorded for each file of tests. Files whose digest is the recorded one are not run. If a
test fails, nothing is recorded for its file.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import grimp
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # for what tests share

from support import tla
from support.marked_tests import ROOT
from support.tlc_record import digest

TESTS: Final = ROOT / "tests"
FILE: Final = TESTS / "exhaustive.tsv"
MARKED: Final = re.compile(r"exhaustive_if\(|mark\.exhaustive")
PAGE: Final = re.compile(r"docs/[\w-]+\.md")
# What these tests check. They use more, for example the tours, which a change makes no less right.
CHECKED: Final = (
    "groupcheck.model",
    "groupcheck.implementation.core",
    "groupcheck.properties.temporal",
)
STALE: Final = "these have changed: run python tests/support/record_exhaustive.py"


def files() -> list[Path]:
    """The files that have exhaustive tests."""
    found = sorted(TESTS.rglob("test_*.py"))
    return [file for file in found if MARKED.search(file.read_text(encoding="utf-8"))]


def sources(file: Path) -> set[Path]:
    """What the results of a file of tests depend on.

    These are the file, the modules that it imports, directly or not, of the packages that these
    tests check, the specifications and configurations beside these modules if it runs TLC, and the
    pages that it names.
    """
    graph = _graph()
    shared, direct = _imports(file)
    modules = direct.union(*map(graph.find_upstream_modules, direct))
    found = {_file(module) for module in modules if module.startswith(CHECKED)}
    if Path(tla.__file__) in shared:
        folders = {each.parent for each in found}
        found |= {each for folder in folders for each in folder.iterdir() if _is_tla(each)}
    pages = PAGE.findall(file.read_text(encoding="utf-8"))
    return found | {file} | {ROOT / page for page in pages}


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph("groupcheck", cache_dir=None)


def _imports(file: Path) -> tuple[set[Path], set[str]]:
    """The files of `support` that a test uses, and the modules that it and they import."""
    shared, modules, left = set[Path](), set[str](), [file]
    while left:
        each = left.pop()
        for name in _imported(each):
            used = TESTS / f"{name.replace('.', '/')}.py"
            if name.startswith("support.") and used.is_file() and used not in shared:
                shared.add(used)
                left.append(used)
            elif name in _graph().modules:
                modules.add(name)
    return shared, modules


def _imported(file: Path) -> Iterator[str]:
    """What a file imports; of `from a import b` both `a` and `a.b`, which may be a module."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def _file(module: str) -> Path:
    path = ROOT.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _is_tla(file: Path) -> bool:
    return file.suffix in {".tla", ".cfg"}


def digests() -> dict[str, str]:
    """The digest of the sources of each file, without comments on lines of their own."""
    return {
        str(file.relative_to(ROOT)): digest(
            (str(each.relative_to(ROOT)), _code(each)) for each in sources(file)
        )
        for file in files()
    }


def _code(file: Path) -> str:
    text = file.read_text(encoding="utf-8")
    if _is_tla(file):
        return tla.code(text)
    lines = text.splitlines()
    return "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#"))


def recorded() -> dict[str, str]:
    """The digests with which the tests of each file last passed."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return {file: value for file, _, value in (line.partition("\t") for line in lines)}


def main() -> int:
    """Run what has changed; the status is that of pytest."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    options = parser.parse_args()
    now, before = digests(), recorded()
    stale = [file for file, value in now.items() if before.get(file) != value]
    status = 0
    if stale:
        command = [sys.executable, "-m", "pytest", "-n", str(options.jobs), "--dist", "worksteal"]
        status = subprocess.run(
            [*command, "-m", "exhaustive", *stale], cwd=ROOT, check=False
        ).returncode
    if status in {0, pytest.ExitCode.TESTS_FAILED}:
        bad = failed() if status else set()
        lines = (f"{file}\t{'failed' if file in bad else value}\n" for file, value in now.items())
        FILE.write_text("".join(lines), encoding="utf-8")
    return status


def failed() -> set[str]:
    """The files with a test that failed when it was last run."""
    found = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
    return {test.partition("::")[0] for test in json.loads(found.read_text(encoding="utf-8"))}


if __name__ == "__main__":
    raise SystemExit(main())
