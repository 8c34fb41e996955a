"""An independent check of small histories: tries every order of overlapping requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from groupcheck.model.classic.config import Config
from groupcheck.model.classic.state import Coordinator, HoldAppends, Log, ReleaseAppends
from groupcheck.model.classic.step import Outcome
from groupcheck.model.classic.storing.committed import ANSWERS_ARE_DEFERRED
from groupcheck.model.classic.transition import successors
from groupcheck.properties.compare import normal
from groupcheck.properties.histories.history import NEVER, Operation, Setting

World = tuple[Coordinator, frozenset[int]]
"""A state, and the requests that are answered."""


def explained(whole: Sequence[Operation], setting: Setting) -> bool:
    """Whether Kafka allows an order of the requests; tries all of them."""
    over = [n for n, each in enumerate(whole) if each.ends != NEVER]
    others = [n for n, each in enumerate(whole) if each.ends == NEVER]
    return any(
        _Order([whole[n] for n in order], setting).is_allowed()
        for size in range(len(others) + 1)
        for some in combinations(others, size)
        for order in permutations([*over, *some])
    )


class _Order:
    def __init__(self, order: list[Operation], setting: Setting) -> None:
        self.order = order
        self.setting = setting
        self.config = Config.of(setting.broker)
        self.asked = {e.request.request_id: e for e in order if not e.is_fault}

    def is_allowed(self) -> bool:
        order = self.order
        pairs = ((each, late) for n, each in enumerate(order) for late in order[n + 1 :])
        if any(min(late.ends, late.gone) < each.begins for each, late in pairs):
            return False
        worlds: set[World] = {
            (Coordinator(holding=self.setting.open_appends, log=Log()), frozenset())
        }
        for each in order:
            worlds = {
                following
                for state, answered in self._some_are_safe(worlds)
                if all(n in answered or self.asked[n].ends >= each.begins for n in self.asked)
                for outcome in successors(state, each.given, self.setting.profile, self.config)
                for following in self._seen(outcome, answered)
            }
        return any(
            all(n in answered or self.asked[n].ends == NEVER for n in self.asked)
            for _, answered in self._some_are_safe(worlds)
        )

    def _seen(self, outcome: Outcome, answered: frozenset[int]) -> Iterator[World]:
        """The state after an outcome, if its responses are those of the history."""
        if all(
            self.asked[r.request_id].answer
            in {
                None,
                normal(r.body, self.setting.symbols, self.asked[r.request_id].request.api_version),
            }
            for r in outcome.responses
        ):
            yield outcome.coordinator, answered | {r.request_id for r in outcome.responses}

    def _some_are_safe(self, worlds: set[World]) -> set[World]:
        """These states, and those after some of their pending appends have completed, in order."""
        if not self.setting.open_appends:
            return worlds
        found, fresh = set(worlds), worlds
        while fresh:
            fresh = {
                following
                for state, answered in fresh
                if state.appends
                for outcome in self._first_is_safe(state)
                for following in self._seen(outcome, answered)
            } - found
            found |= fresh
        return found

    def _first_is_safe(self, state: Coordinator) -> Iterator[Outcome]:
        """The first append completes; in a version that completes them together, all do."""
        profile = self.setting.profile
        first = len(state.appends) if ANSWERS_ARE_DEFERRED.holds_in(profile.version) else 1
        alone = state._replace(appends=state.appends[:first])
        for outcome in successors(alone, ReleaseAppends(), profile, self.config):
            kept = outcome.coordinator._replace(appends=state.appends[first:])
            for held in successors(kept, HoldAppends(), profile, self.config):
                yield outcome._replace(coordinator=held.coordinator)
