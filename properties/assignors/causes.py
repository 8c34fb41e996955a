"""The causes of broken promises, so that each is a finding of its own."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple

from groupcheck.model.assignors.functions import (
    EXPLANATIONS,
    Behaviour,
    Function,
    function_of,
)
from groupcheck.model.assignors.group import Assignment, Group, as_sets
from groupcheck.model.assignors.promises import ANSWERS, Broken, Round

# The kind of an error, as in "KeyError: 'm0'".
ERROR_KIND: Final = re.compile(r"([A-Za-z][\w.$ ]{1,80})(?=:|$)")
# How many groups of a cause are kept.
SAMPLES: Final = 8


class Trial(NamedTuple):
    """A group that an assignor was given: its rounds, and the promise that they break."""

    group: Group
    rounds: tuple[Round, ...]
    broken: Broken | None


class Causes:
    """Tells the causes of broken promises apart.

    An assignment that is not the documented one may be that of another known behaviour; one that is
    missing has the name of an error.
    """

    def __init__(self, assignor: str, version: str) -> None:
        self._usual: Callable[[Group], Assignment] | None = None
        self._others: dict[str, Callable[[Group], Assignment]] = {}
        found = function_of(assignor, version)
        if found is not None:
            function, usual = found
            self._usual = partial(_assigned, function, usual)
            behaviours = {words: change(usual) for words, change in EXPLANATIONS.items()}
            self._others = {
                words: partial(_assigned, function, behaviour)
                for words, behaviour in behaviours.items()
                if behaviour != usual
            }
        self.contradicted: Counter[str] = Counter()
        self.excluded: set[str] = set()

    def may_be(self, cause: str, trial: Trial) -> bool:
        """Whether a broken promise may have a cause, or none that is known."""
        possible = self.of(trial) - self.excluded
        return cause in possible if cause else not possible

    def exclude(self, explained: Counter[str]) -> None:
        """Leave out the causes that explain less than they contradict; a port may have several."""
        names = explained.keys() | self.contradicted.keys()
        self.excluded |= {each for each in names if explained[each] <= self.contradicted[each]}

    def simplest(self, causes: Iterable[str]) -> str:
        """The cause of some that comes first in the list of explanations."""
        names = [*EXPLANATIONS]
        return min(causes, key=lambda each: names.index(each) if each in names else -1, default="")

    def contradict(self, trial: Trial) -> None:
        """Count the causes that would change an assignment, but not to what the port assigned."""
        if trial.rounds and self._usual is not None:
            given_to = as_sets(trial.rounds[0].assignment)
            usual = as_sets(self._usual(trial.group))
            for words, assign in self._others.items():
                other = as_sets(assign(trial.group))
                self.contradicted[words] += other not in (usual, given_to)

    def of(self, trial: Trial) -> frozenset[str]:
        """What may be the cause of a broken promise; nothing if there is no more to say."""
        if trial.broken is None:
            return frozenset()
        if trial.broken.promise == ANSWERS:
            kind = ERROR_KIND.match(trial.broken.detail)
            return frozenset({kind[1]} if kind else ())
        if trial.broken.promise.id != "as-kafka":
            return frozenset()
        given_to = as_sets(trial.rounds[0].assignment)
        return frozenset(
            words
            for words, assign in self._others.items()
            if as_sets(assign(trial.group)) == given_to
        )


def _assigned(function: Function, behaviour: Behaviour, group: Group) -> Assignment:
    return function(group, behaviour)


class Found:
    """The groups that break a promise: of each set of possible causes, how many, and the first."""

    def __init__(self) -> None:
        self._counts: Counter[frozenset[str]] = Counter()
        self._first: dict[frozenset[str], list[Trial]] = defaultdict(list)

    def add(self, causes: frozenset[str], trial: Trial) -> None:
        """Count a group."""
        self._counts[causes] += 1
        if len(self._first[causes]) < SAMPLES:
            self._first[causes].append(trial)

    def by_cause(self, causes: Causes) -> Iterator[tuple[str, int, list[Trial]]]:
        """Few causes that explain all groups, with the number and the first; "" for none."""
        causes.exclude(_votes(self._counts))
        left = dict(self._counts)
        while left:
            votes = _votes(left)
            for each in causes.excluded:
                del votes[each]
            most = max(votes.values(), default=0)
            cause = causes.simplest(each for each, count in votes.items() if count == most)
            explained = [possible for possible in left if cause in possible or not cause]
            first = [trial for possible in explained for trial in self._first[possible]]
            yield cause, sum(left[possible] for possible in explained), first[:SAMPLES]
            for possible in explained:
                del left[possible]


def _votes(counts: Mapping[frozenset[str], int]) -> Counter[str]:
    """How many groups each cause may explain."""
    votes = Counter[str]()
    for possible, count in counts.items():
        votes.update(dict.fromkeys(possible, count))
    return votes
