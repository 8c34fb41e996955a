"""Run the exhaustive tests and record it: `python tests/support/record_exhaustive.py [--jobs N]`.

They check every large model instance and the longest seeded faults, which takes half an hour of
one core. They run after a change of the rules, not in every CI run: a test compares the recorded
digest of the sources. If a test fails, nothing is recorded.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))  # for what tests share

from support import tlc_record
from support.marked_tests import ROOT

FILE: Final = ROOT / "tests" / "model" / "exhaustive.txt"
MARK: Final = "exhaustive"
# What the results of these tests depend on, beside the tests themselves, and what they do not use.
PACKAGES: Final = ("model", "implementation/core", "properties/temporal")
EXCEPT: Final = (
    "model/assignors",
    "model/brokers.py",
    "model/client.py",
    "model/cluster",
    "model/engine/columns.py",
    "model/engine/counting.py",
    "model/engine/lower_bound.py",
    "model/engine/noting.py",
    "model/member",
    "model/system",
)
STALE: Final = "the rules have changed: run python tests/support/record_exhaustive.py"


def _sources() -> Iterator[Path]:
    yield tlc_record.FILE
    unused = [ROOT / each for each in EXCEPT]
    for package in PACKAGES:
        found = (ROOT / package).rglob("*.py")
        yield from (file for file in found if not any(map(file.is_relative_to, unused)))
    for test in (ROOT / "tests").rglob("test_*.py"):
        if f"{MARK}_if" in test.read_text(encoding="utf-8"):
            yield test


def digest() -> str:
    """The digest of the sources, without comments on lines of their own."""
    return tlc_record.digest((str(file.relative_to(ROOT)), _code(file)) for file in _sources())


def _code(file: Path) -> str:
    lines = file.read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#"))


def recorded() -> str:
    """The digest of the sources that these tests last passed with."""
    return FILE.read_text(encoding="utf-8").strip()


def main() -> int:
    """Run them; the status is that of pytest."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    options = parser.parse_args()
    sources = digest()
    command = [sys.executable, "-m", "pytest", "-n", str(options.jobs), "--dist", "worksteal"]
    # Tests of what the digest leaves out may have the mark, too.
    others = [f"--ignore=tests/{each}" for each in EXCEPT if (ROOT / "tests" / each).is_dir()]
    status = subprocess.run([*command, *others, "-m", MARK], cwd=ROOT, check=False).returncode
    if status == 0:
        FILE.write_text(f"{sources}\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
