"""Keeps retired words out of code, help, messages and pages.

A failure lists FILE:LINE:WORD and the number of words in each folder.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from support.marked_tests import ROOT

GLOSSARY: Final = "docs/glossary.md"
SUFFIXES: Final = {".py", ".md", ".tla", ".toml", ".yml", ".js", ".j2"}
MOST: Final = 50  # the maximum of lines that a failure lists

# Retired words, and the terms that replace them. Words with a plain meaning are not listed.
RETIRED: Final = {
    r"unlawful(?:ly)?": "not allowed",
    r"lawful(?:ly)?": "allowed",
    r"mend(?:s|ed|ing)?": "fix",
    r"begets?": "creates the group",
    r"heirs?": "successor member",
    r"bur(?:y|ies|ied)": "mark dead",
    r"ghosts?": "orphaned timer",
    r"borne": "named",
    r"nameless": "empty group id",
    r"anew": "again, restarts",
    r"dimly": "partially observed",
    r"goings": "unfinished obligation",
    r"happenings?": "faults",
    r"held (?:to|against) (?:the|a|each|its|his|them|it|TLC)\b": "checked against",
    r"holds? \w+ to the model": "checks",
    r"labelled edges?": "transition",
    r"edges? shown": "transitions covered",
    r"what is open|is left open": "nondeterminism",
    r"judg(?:e|es|ed|ing)": "check",
    r"told": "returned, revealed, reported, recorded",
    r"nobody": "name the client, the member, the request",
    r"whoever": "name the client, the member, the request",
    r"the (?:house|rooms?|doors?)": "repository, package, entry point",
    r"acquaintances?": "broker info",
    r"enquir(?:y|ies)": "bootstrap client",
    r"likeness": "state equivalence",
    r"retold": "recorded",
    r"condensed": "minimised recording",
    r"presumed": "assumed defaults",
    r"turn(?:s|ed)? away": "reject",
    r"takes? back|taken back": "drop the pending id",
    r"hung up on": "the connection is closed",
    r"go(?:es|ne)? alike": "behave the same",
    r"breach(?:es)?": "violation",
    r"laws?": "invariant, temporal property",
    r"traits?": "version behaviour",
    r"wandering": "fuzzing",
    r"spoken": "capabilities",
    r"spared|sparing": "unsupported",
    r"retrace": "reconstruct",
    r"pulse": "health check",
    r"keeper": "supervisor",
    r"upkeep": "maintenance",
    r"unsound": "invalid",
    r"survivors?": "retained records",
    r"legs?": "cycle edge",
    r"hops?": "transition",
    r"at a glance": "literally, quickly",
    r"by heart": "precomputed",
    r"calm|peace": "steady-state fast path",
    r"thaw": "restore",
    r"tallied": "aggregated",
    r"bears? other names": "is renamed",
    r"put to the test": "tested",
    r"of no account": "ignored",
    r"over and above": "in addition to",
    r"gates?": "precondition check",
    r"prolong(?:s|ed|ing)?": "extend",
    r"stor(?:y|ies)": "the text of a finding",
    r"\w+_in_words": "a name that ends in _text or _lines",
}

# Correct phrases with a retired word: Kafka's names and texts, ids of the model, ordinary uses.
ALLOWED: Final = {
    "'nobody'": "the member id that no member has",
    '"nobody"': "the member id that no member has",
    "NOBODY": "the constant of that member id",
    "nobody's": "a member id in examples",
}

_WORDS: Final = re.compile(r"(?<![\w-])(?:" + "|".join(RETIRED) + r")(?![\w-])", re.IGNORECASE)
_ALLOWED: Final = re.compile("|".join(map(re.escape, ALLOWED)))


def test_no_file_has_a_retired_word() -> None:
    found = [each for path in _files() for each in _retired(path)]
    shown = "\n".join(found[:MOST])
    assert not found, f"use the terms of {GLOSSARY}; {_per_folder(found)}\n{shown}"


def _per_folder(found: list[str]) -> str:
    counts = Counter(str(Path(each.partition(":")[0]).parent) for each in found)
    return ", ".join(f"{folder} {count}" for folder, count in sorted(counts.items()))


def _files() -> Iterator[Path]:
    """The tracked text files."""
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for path in map(Path, filter(None, listed.split("\0"))):
        is_text = path.suffix in SUFFIXES or path.parts[0] == ".ci"
        if is_text and path.name != Path(__file__).name and (ROOT / path).is_file():
            yield path


def _retired(path: Path) -> list[str]:
    """The retired words of a file, as FILE:LINE:WORD."""
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    return [
        f"{path}:{number}:{match[0]}"
        for number, line in enumerate(lines, 1)
        for match in _WORDS.finditer(_ALLOWED.sub("", line.replace("_", " ")))
    ]
