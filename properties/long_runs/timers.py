"""The instances of timed tours: sessions, rebalances and pending member ids end during a test.

On a broker with a known interval of cleanups, also the retention time of offsets.

A *tick* is how long a tour waits at once. Timeouts are one or two ticks and a half, so that a timer
is due half a tick before a wait ends: it has fired by then although it may be late, and it has not
fired before although requests take time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import filterfalse
from types import MappingProxyType
from typing import Any, Final

from groupcheck.model.classic.config import CLEANUP_INTERVAL, Config
from groupcheck.model.classic.exploring.canonical import CanonicalForm
from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.model.classic.instances.instance import DELAY, Instance
from groupcheck.model.classic.instances.real_time import AtOnce
from groupcheck.model.classic.state import Advance, Cleanup, Coordinator
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.vocabulary import OffsetCommitRequest, Request
from groupcheck.properties.sequence import Sequence

# Half of a tick, in milliseconds: longer than timers are late, and a divisor of the five minutes
# that a new member has.
HALVES_MS: Final = (1_500, 2_000, 3_000, 5_000)
SESSION_HALVES, REBALANCE_HALVES = 3, 5
RETENTION_QUARTERS: Final = 6


class Ticking(AtOnce):
    """An instance in which time passes in ticks of several `tick_ms`.

    Timers are rounded up to `tick_ms`: what requests have taken since they started is left out.
    """

    __slots__ = ()
    IN_A_TICK = 2

    def inputs(self, state: Coordinator) -> Iterator[Input]:
        """The requests, and a tick."""
        tick = Advance(self.IN_A_TICK * self.tick_ms)
        for given in super().inputs(state):
            yield tick if isinstance(given, Advance) and given.ms == self.tick_ms else given

    def canonical(self, state: Coordinator) -> CanonicalForm:
        """The canonical form of a state whose timers are rounded."""
        return super().canonical(self.rounded(state))

    def rounded(self, state: Coordinator) -> Coordinator:
        """The state with the time left of each timer rounded up."""
        return _rounded(state, self.tick_ms)


class Cleaning(Ticking):
    """An instance in which a cleanup comes as soon as it has an effect, before any request.

    Cleanups of the broker are frequent, so that a test can wait for one; the others change nothing.
    A session ends in the first quarter of a tick, before the broker's retention time: the cleanup
    after the tick finds what the first one in it found. A commit of the past (version 1) is left
    out: its offset would expire as the session ends, and whether the group is Empty by then decides
    whether it does. An offset with a retention time of its own expires in any case.
    """

    __slots__ = ()
    IN_A_TICK = 4

    def inputs(self, state: Coordinator) -> Iterator[Input]:
        """The requests and a tick, or a cleanup if there is something to remove."""
        if _is_cleanup_due(state, self.profile, self.config):
            return iter((Cleanup(),))
        return filterfalse(_is_of_the_past, super().inputs(state))


def _is_cleanup_due(state: Coordinator, profile: Profile, config: Config) -> bool:
    after = successors(state, Cleanup(), profile, config)
    return any(outcome.coordinator != state for outcome in after)


def _is_of_the_past(given: Input) -> bool:
    if not isinstance(given, Request) or not isinstance(given.body, OffsetCommitRequest):
        return False
    return any(p.commit_age_ms for topic in given.body.topics for p in topic.partitions)


def waits_for_cleanups(sequence: Sequence) -> bool:
    """Whether a sequence waits for each cleanup that has an effect, before it goes on.

    Without the wait, the broker may have done the cleanup or not.
    """
    profile, broker = sequence.model, sequence.broker
    if CLEANUP_INTERVAL not in broker:
        return True
    config = Config.of(broker)._replace(keeps_ages=True)
    states = {Coordinator()}
    for step in sequence.steps:
        if not isinstance(step, Cleanup) and any(
            _is_cleanup_due(state, profile, config) for state in states
        ):
            return False
        after = (o for state in states for o in successors(state, step, profile, config))
        states = {outcome.coordinator for outcome in after}
    return True


def _rounded(state: Coordinator, unit_ms: int) -> Coordinator:
    """The state with the time left of each timer and each offset rounded up."""

    def up(left_ms: int | None) -> Any:  # noqa: ANN401 - None stays None, and -1, which is over
        return left_ms if left_ms is None or left_ms < 0 else -(-left_ms // unit_ms) * unit_ms

    state = state._replace(removed_group_join_ms=up(state.removed_group_join_ms))
    group, timer = state.group, state.group and state.group.join_timer
    if group is None:
        return state
    return state._replace(
        group=group._replace(
            members=tuple(m._replace(session_left_ms=up(m.session_left_ms)) for m in group.members),
            pending=tuple(p._replace(left_ms=up(p.left_ms)) for p in group.pending),
            join_timer=timer and timer._replace(left_ms=up(timer.left_ms)),
            orphaned_timers=tuple(map(up, group.orphaned_timers)),
            sync_left_ms=up(group.sync_left_ms),
            empty_left_ms=up(group.empty_left_ms),
            offsets=tuple((at, o._replace(left_ms=up(o.left_ms))) for at, o in group.offsets),
            transactions=tuple(
                p._replace(offset=p.offset._replace(left_ms=up(p.offset.left_ms)))
                for p in group.transactions
            ),
        )
    )


def timed_instances(
    profile: Profile, members: int, broker: Mapping[str, int] = MappingProxyType({})
) -> dict[str, Instance]:
    """The instances of a version for a broker with these settings.

    There is none if the broker has an initial delay, or allows no session of these lengths.
    """
    config = Config.of(broker)
    if CLEANUP_INTERVAL in broker:
        return _expiring(profile, broker)
    least, most = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
    half_ms = next((ms for ms in HALVES_MS if least <= SESSION_HALVES * ms <= most), None)
    if half_ms is None or config.group_initial_rebalance_delay_ms:
        return {}
    settings = {name: value for name, value in broker.items() if name != DELAY}
    ticks = SESSION_HALVES, REBALANCE_HALVES
    timers = Ticking(
        profile, members, frozenset({Feature.TIME}), half_ms, *ticks, 0, MappingProxyType(settings)
    )
    if "join/static-preparing" not in profile.rules:
        return {"timers": timers}
    # With two members there are tens of thousands of transitions, and a tick takes seconds.
    static = timers._replace(members=1, features=timers.features | {Feature.STATIC_MEMBERS})
    return {"timers": timers, "timers-static": static}


def _expiring(profile: Profile, broker: Mapping[str, int]) -> dict[str, Instance]:
    """The instances in which offsets expire, after a tick and a half."""
    config = Config.of(broker)
    quarter_ms = config.offsets_retention_minutes * 60_000 // RETENTION_QUARTERS
    least, most = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
    if config.group_initial_rebalance_delay_ms or not least <= quarter_ms <= most:
        return {}
    settings = MappingProxyType({name: value for name, value in broker.items() if name != DELAY})
    features = frozenset({Feature.TIME, Feature.EXPIRY})
    expiry = Cleaning(profile, 1, features, quarter_ms, 1, 1, 0, settings)
    if "TxnOffsetCommit" not in profile.max_versions:
        return {"expiry": expiry}
    transactions = expiry._replace(features=features | {Feature.TRANSACTIONS})
    return {"expiry": expiry, "expiry-transactions": transactions}
