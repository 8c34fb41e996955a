"""What pytest was asked for, on the command line or in the ini file, as settings of a verification.

What is not lawful is told as a `pytest.UsageError`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NoReturn

import pytest

from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.clients import Feature
from groupcheck.numbers import PROFILE
from groupcheck.properties.result import Settings
from groupcheck.properties.skipping import SKIPPABLE
from groupcheck.properties.windows import Windows
from groupcheck.pytest_plugin import ASKED, option

# What every test of the suite is marked with.
MARKER: Final = "groupcheck"


def settings_of(config: pytest.Config, known: str | None = None) -> Settings:
    """How much is done, and by which Kafka it is judged: what the port is `known` to be, if any."""
    profile = option(config, "profile") or known or PROFILE
    if profile not in PROFILES:
        refuse(f"unknown profile {profile!r}; known: {', '.join(PROFILES)}")
    names = ("members", "examples", "steps", "seed", "max_findings")
    numbers = {name: _number(config, name) for name in names}
    given = config.getoption("--hypothesis-seed", None)
    if given is not None and config.getoption("--groupcheck-seed") is None:
        numbers["seed"] = _parsed("seed", str(given)) if str(given).isdecimal() else 0
    every_space = config.getoption("--groupcheck-every-space")
    every_space = bool(every_space or config.getini("groupcheck_every_space"))
    members, examples, steps, seed, most = numbers.values()
    walks = _number(config, "walks")
    return Settings(
        profile, members, examples, steps, seed, most, every_space=every_space, walks=walks
    )


def windows_of(config: pytest.Config) -> Windows:
    """The windows within which a coordinator on a real clock is judged."""
    names = ("late_ms", "grace_ms", "answer_ms")
    return Windows(**{name: _number(config, name) for name in names})


def _number(config: pytest.Config, name: str) -> int:
    return _parsed(name, option(config, name))


def _parsed(name: str, text: str) -> int:
    try:
        return ASKED[name].parse(text)
    except argparse.ArgumentTypeError as error:
        refuse(f"{name.replace('_', '-')} {error}")


def path_of(config: pytest.Config, name: str) -> Path | None:
    """A file or directory; what the ini file says is seen from where that is."""
    said = config.getoption(f"--groupcheck-{name}")
    if said is not None:
        return Path(said).absolute() if said else None
    path = option(config, name)
    return config.rootpath / path if path else None


def expected_of(config: pytest.Config) -> dict[str, str]:
    """The ids of the findings that are known, each with the reason why it is let stand."""
    return dict(map(_expected, config.getini("groupcheck_expected")))


def _expected(line: str) -> tuple[str, str]:
    finding_id, _, reason = line.partition(" ")
    if not reason.strip():
        refuse(f"groupcheck_expected: {line!r} is not a finding's id and a reason")
    return finding_id, reason.strip()


def skipped_of(config: pytest.Config) -> dict[Feature, str]:
    """The features that are to be skipped, each with the reason."""
    said = config.getoption("--groupcheck-skip")
    if said is not None:
        return dict(_skipped(said, "--groupcheck-skip"))
    return dict(_skipped(config.getini("groupcheck_skip"), "groupcheck_skip"))


def _skipped(lines: Iterable[str], where: str) -> Iterator[tuple[Feature, str]]:
    known = {feature.value: feature for feature in SKIPPABLE}
    for line in filter(str.strip, lines):
        names, _, reason = line.strip().partition(" ")
        for name in names.split(","):
            feature = known.get(name.replace("_", "-"))
            if feature is None:
                refuse(f"{where}: unknown feature {name!r}; known: {', '.join(known)}")
            yield feature, reason.strip() or f"as {where} says"


def markers() -> Iterator[str]:
    """What is told of the markers that tests of the suite have, or may be given."""
    yield f"{MARKER}: this is a test of groupcheck's suite"
    for feature in SKIPPABLE:
        yield f"{marker(feature)}(reason=None): the port lacks {feature}, of groupcheck's features"


def marker(feature: Feature) -> str:
    """The marker of a test whose port lacks a feature."""
    return f"no_{feature.replace('-', '_')}"


def refuse(why: str) -> NoReturn:
    """Refuse to run.

    Raises:
        pytest.UsageError: always.
    """
    msg = f"groupcheck: {why}"
    raise pytest.UsageError(msg)
