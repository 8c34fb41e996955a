"""Steps that a profile and its edits have in common: they use no edited part of the rules.

The search tries about a thousand edits on the same tests, and each edit changes one part of the
rules: a table, a procedure, a behaviour, or the answers of one rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol, Self, TypeVar

from groupcheck.model.classic.config import Config
from groupcheck.model.classic.state import Coordinator
from groupcheck.model.classic.step import Outcome, Profile
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.engine.rules import Version
from groupcheck.model.vocabulary import Request

T = TypeVar("T")
Key = tuple[type, Coordinator, Input]
Part = tuple[str, str]  # the field of a version, and the name in it

MAPPINGS: Final = ("tables", "procedures", "answers")
MOST_KEPT: Final = 200_000


class _Successors(NamedTuple):
    outcomes: list[Outcome]
    used: frozenset[Part]


class Test(Protocol):
    """A test that a profile allows or rejects."""

    def allowed_by(self, model: Profile, steps: SharedSteps, /) -> bool:
        """Whether a profile allows the whole test; `steps` has known steps."""
        ...


class _KnownTest(NamedTuple):
    test: Test  # so that its id stays in use
    is_allowed: bool
    used: set[Part]


class SharedSteps:
    """The successors in a profile, with the parts of its rules that each of them used.

    Successors in another profile are the same if they used no part in which the profiles differ.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._used: set[Part] = set()
        self._noting = noting(profile, self._used)
        self._known: dict[tuple[Config, Key], _Successors] = {}
        self._noted: set[Part] = set()  # what a test has used in the profile
        self._tests: dict[int, _KnownTest] = {}
        self._last = profile, frozenset[Part]()  # what has changed in it

    def after(self, profile: Profile) -> SharedSteps:
        """The steps of another profile; those that the profiles share are known."""
        other, changed = SharedSteps(profile), self._changed(profile)
        kept = (item for item in self._known.items() if changed.isdisjoint(item[1].used))
        other._known = dict(kept)
        return other

    def of(self, profile: Profile, config: Config) -> Callable[[Coordinator, Input], list[Outcome]]:
        """The transition function of a profile, which remembers what it has computed."""
        changed = self._changed(profile)
        own: dict[Key, list[Outcome]] = {}

        def shared(state: Coordinator, given: Input) -> list[Outcome]:
            key = _key(state, given)
            found = self._successors(config, key)
            if not changed:
                self._noted |= found.used
            if changed.isdisjoint(found.used):
                return found.outcomes
            outcomes = own.get(key)
            if outcomes is None:
                outcomes = own[key] = successors(state, given, profile, config)
            return outcomes

        return shared

    def _successors(self, config: Config, key: Key) -> _Successors:
        found = self._known.get((config, key))
        if found is None:
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            self._used.clear()
            _, state, given = key
            outcomes = successors(state, given, self._noting, config)
            found = self._known[config, key] = _Successors(outcomes, frozenset(self._used))
        return found

    def allow(self, test: Test, profile: Profile) -> bool:
        """Whether a profile allows a test; known if it used no part in which the profiles differ.

        The test must not change, and its steps must be taken with these shared steps.
        """
        known = self._tests.get(id(test))
        if known is None:
            self._noted = used = set[Part]()
            allowed = test.allowed_by(self.profile, self)
            self._noted = set()
            known = self._tests[id(test)] = _KnownTest(test, allowed, used)
        renumbered = profile.version.first_numbers != self.profile.version.first_numbers
        if renumbered or not known.used.isdisjoint(self._changed(profile)):
            return test.allowed_by(profile, self)
        return known.is_allowed

    def _changed(self, profile: Profile) -> frozenset[Part]:
        if profile is not self._last[0]:
            self._last = profile, frozenset(_differences(self.profile.version, profile.version))
        return self._last[1]


def _key(state: Coordinator, given: Input) -> Key:
    """The key of a step; inputs of two types may be equal, as tuples."""
    return type(given.body if isinstance(given, Request) else given), state, given


def _differences(one: Version, other: Version) -> Iterator[Part]:
    """The parts that two versions do not share."""
    for field in MAPPINGS:
        ours, theirs = getattr(one, field), getattr(other, field)
        for name in ours.keys() | theirs.keys():
            if ours.get(name) != theirs.get(name):
                yield field, name
    for name in one.unknown_after ^ other.unknown_after:
        yield "answers", name
    for name in one.behaviours ^ other.behaviours:
        yield "behaviours", name


def noting(profile: Profile, used: set[Part]) -> Profile:
    """The same profile, which notes each part of its rules that is used."""
    version = profile.version
    noted = version._replace(
        tables=_NotingParts(version.tables, "tables", used),
        procedures=_NotingParts(version.procedures, "procedures", used),
        answers=_NotingParts(version.answers, "answers", used),
        behaviours=_NotingNames(version.behaviours, used),
    )
    # An edited profile may reach states in which Kafka's own rules raise.
    return profile._replace(version=noted, impossible=(Exception,))


class _NotingParts(dict[str, T]):
    def __init__(self, parts: Mapping[str, T], field: str, used: set[Part]) -> None:
        super().__init__(parts)
        self._field = field
        self._used = used

    def __bool__(self) -> bool:
        return True  # the rules ask first, and then look for a part

    def __getitem__(self, name: str) -> T:
        self._used.add((self._field, name))
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as of a dict
        self._used.add((self._field, name))
        return super().get(name, default)


class _NotingNames(frozenset[str]):
    _used: set[Part]

    def __new__(cls, names: frozenset[str], used: set[Part]) -> Self:
        self = super().__new__(cls, names)
        self._used = used
        return self

    def __contains__(self, name: object) -> bool:
        self._used.add(("behaviours", str(name)))
        return super().__contains__(name)
