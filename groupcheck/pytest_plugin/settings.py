"""The settings of a run, read from pytest's options and ini keys.

An invalid setting is a `pytest.UsageError`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NoReturn

import pytest

from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.numeric_options import PROFILE
from groupcheck.properties.result import Settings
from groupcheck.properties.tolerances import Tolerances
from groupcheck.properties.unsupported import SKIPPABLE
from groupcheck.pytest_plugin.options import NUMERIC, option

# The marker of every test of the suite.
MARKER: Final = "groupcheck"


def settings_of(config: pytest.Config, known: str | None = None) -> Settings:
    """The settings of the verification; `known` is the version that the port is known to be."""
    profile = option(config, "profile") or known or PROFILE
    if profile not in EVERY_PROFILE:
        refuse(f"unknown profile {profile!r}; known: {', '.join(EVERY_PROFILE)}")
    names = ("members", "examples", "steps", "seed", "max_findings")
    numbers = {name: _number(config, name) for name in names}
    given = config.getoption("--hypothesis-seed", None)
    if given is not None and config.getoption("--groupcheck-seed") is None:
        numbers["seed"] = _parsed("seed", str(given)) if str(given).isdecimal() else 0
    every = config.getoption("--groupcheck-every-instance")
    every = bool(every or config.getini("groupcheck_every_instance"))
    members, examples, steps, seed, most = numbers.values()
    walks = _number(config, "walks")
    return Settings(
        profile, members, examples, steps, seed, most, every_instance=every, walks=walks
    )


def tolerances_of(config: pytest.Config) -> Tolerances:
    """The time tolerances for a coordinator on a real clock."""
    names = ("late_ms", "grace_ms", "answer_ms")
    return Tolerances(**{name: _number(config, name) for name in names})


def _number(config: pytest.Config, name: str) -> int:
    return _parsed(name, option(config, name))


def _parsed(name: str, text: str) -> int:
    try:
        return NUMERIC[name].parse(text)
    except argparse.ArgumentTypeError as error:
        refuse(f"{name.replace('_', '-')} {error}")


def path_of(config: pytest.Config, name: str) -> Path | None:
    """A file or directory; one of the ini file is relative to the folder of that file."""
    given = config.getoption(f"--groupcheck-{name}")
    if given is not None:
        return Path(given).absolute() if given else None
    path = option(config, name)
    return config.rootpath / path if path else None


def expected_of(config: pytest.Config) -> dict[str, str]:
    """The reasons of the expected findings, by their ids."""
    return dict(map(_expected, config.getini("groupcheck_expected")))


def _expected(line: str) -> tuple[str, str]:
    finding_id, _, reason = line.partition(" ")
    if not reason.strip():
        refuse(f"groupcheck_expected: {line!r} is not a finding's id and a reason")
    return finding_id, reason.strip()


def skipped_of(config: pytest.Config) -> dict[Feature, str]:
    """The reasons of the features to skip."""
    given = config.getoption("--groupcheck-skip")
    if given is not None:
        return dict(_skipped(given, "--groupcheck-skip"))
    return dict(_skipped(config.getini("groupcheck_skip"), "groupcheck_skip"))


def _skipped(lines: Iterable[str], where: str) -> Iterator[tuple[Feature, str]]:
    known = {feature.value: feature for feature in SKIPPABLE}
    for line in filter(str.strip, lines):
        names, _, reason = line.strip().partition(" ")
        for name in names.split(","):
            feature = known.get(name.replace("_", "-"))
            if feature is None:
                refuse(f"{where}: unknown feature {name!r}; known: {', '.join(known)}")
            yield feature, reason.strip() or f"listed in {where}"


def markers() -> Iterator[str]:
    """The descriptions of the plugin's markers."""
    yield f"{MARKER}: this is a test of groupcheck's suite"
    for feature in SKIPPABLE:
        yield f"{marker(feature)}(reason=None): the port does not have the feature {feature}"


def marker(feature: Feature) -> str:
    """The marker of a port that does not have a feature."""
    return f"no_{feature.replace('-', '_')}"


def refuse(why: str) -> NoReturn:
    """End the run before it starts.

    Raises:
        pytest.UsageError: always.
    """
    msg = f"groupcheck: {why}"
    raise pytest.UsageError(msg)
