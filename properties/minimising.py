"""Makes the findings of a verification minimal: tries shorter sequences on the port."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain, islice, repeat
from math import inf
from queue import SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.deviations.observed import ObservedTest
from groupcheck.properties.deviations.search import Deviations
from groupcheck.properties.findings.canonicalise import canonicalise
from groupcheck.properties.findings.finding import Finding, keep, length_of
from groupcheck.properties.findings.shrink import Trial, shrink
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence

if TYPE_CHECKING:
    from groupcheck.properties.verify import Verification

# How often a sequence is tried: the port may choose another outcome the next time.
CHANCES: Final = 3

# How many tests may hang during the tours, and again while findings are made minimal. Each costs
# its time limit.
MOST_HANGS: Final = 3

# How many findings are made minimal at a time on a real clock, the shortest first: each may try
# dozens of sequences, and within a limited time a few minimal findings explain more than none.
MOST_AT_ONCE: Final = 6

# Runs a sequence again, and returns what it finds.
Replay = Callable[[Sequence], Finding | None]


class Replayer(NamedTuple):
    """Runs sequences again.

    Args:
        replays: returns the finding of each sequence.
        each: processes a list of findings.
        again: if the outcome of a sequence may vary, runs sequences even if `is_over`. A finding
            that does not recur in one of `CHANCES` runs is dropped.
        is_over: whether `replays` does nothing any more.
    """

    replays: Callable[[list[Sequence]], Iterable[Finding | None]]
    each: Callable[[Callable[[Finding], None], list[Finding]], object]
    again: Callable[[list[Sequence]], Iterable[Finding | None]] | None = None
    is_over: Callable[[], bool] = lambda: False


@contextmanager
def in_virtual_time(run: Verification) -> Iterator[Replayer]:
    """Parallel ports run all sequences, until they hang too often."""
    ports: SimpleQueue[Port] = SimpleQueue()

    def once(sequence: Sequence) -> Finding | None:
        port = ports.get()
        try:
            return replay(sequence, port)
        finally:
            ports.put(port)

    with ExitStack() as opened:
        for _ in range(run.ports):
            ports.put(opened.enter_context(run.port()))
        each = opened.enter_context(run.side_by_side())

        def replays(sequences: list[Sequence]) -> Iterator[Finding | None]:
            every = chain.from_iterable(repeat(s, CHANCES) for s in sequences)
            while some := list(islice(every, run.ports)):
                if run.replay_hangs >= MOST_HANGS:
                    return
                run.check_interruption()
                for finding in each(once, some):
                    run.replay_hangs += finding is not None and finding.hung
                    yield finding

        yield Replayer(replays, lambda do, found: list(map(do, found)))


@contextmanager
def concurrently(
    run: Verification,
    concurrent: int,
    once: Replay | None = None,
    until_s: float = inf,
) -> Iterator[Replayer]:
    """Sequences run concurrently, on a real clock.

    `once` replays a sequence, by default on a port of its own. After `until_s`, of the monotonic
    clock, shorter sequences are no longer tried.
    """

    def is_over() -> bool:
        return monotonic() > until_s

    def replay_once(sequence: Sequence) -> Finding | None:
        run.check_interruption()
        if once is not None:
            return once(sequence)
        with run.port() as port:
            return replay(sequence, port)

    def replay_in_time(sequence: Sequence) -> Finding | None:
        return None if is_over() else replay_once(sequence)

    with run.pool(concurrent) as pool, run.pool(MOST_AT_ONCE) as findings:
        yield Replayer(
            lambda sequences: pool.map(replay_in_time, sequences),
            lambda do, found: list(findings.map(do, found)),
            lambda sequences: pool.map(replay_once, sequences),
            is_over,
        )


def confirm(run: Verification, how: Replayer) -> None:
    """Drop the findings that do not recur, if the outcome of a sequence may vary."""
    raw = [finding for finding in run.kept() if not run.is_confirmed(finding)]
    if how.again is None or not raw:
        return
    done = run.progress("repeating findings", len(raw))
    seen = iter(how.again([each.sequence for each in raw for _ in range(CHANCES)]))
    for finding in raw:
        again = [found for found in islice(seen, CHANCES) if found is not None]
        same = next((found for found in again if found.key == finding.key), None)
        if same is None:
            del run.findings[finding.key]
            run.result.not_reproduced += 1
        else:
            run.findings[finding.key] = run.confirmed[finding.key] = same
        done(1)


def minimise(run: Verification, how: Replayer) -> None:
    """Replace each finding by the shortest one that has the same key.

    A sequence tried for one finding may be a shorter trace of another one. When the time is over,
    the next call goes on.
    """
    confirm(run, how)
    raw = [finding for finding in run.kept() if not run.is_minimal(finding)]
    if not raw:
        return
    done = run.progress("making findings minimal", len(raw))
    others: dict[tuple[str, ...], Finding] = {}

    smallest = partial(_minimise_one, run, how, others)
    how.each(_counted(smallest, done), raw)
    if how.again is None:
        how.each(smallest, [each for each in others.values() if _is_shorter(run, each)])


def _counted(
    do: Callable[[Finding], None], done: Callable[[int], None]
) -> Callable[[Finding], None]:
    """A function that calls `do` with a finding, and then counts the finding as done."""

    def counted(finding: Finding) -> None:
        do(finding)
        done(1)

    return counted


def _minimise_one(
    run: Verification, how: Replayer, others: dict[tuple[str, ...], Finding], finding: Finding
) -> None:
    """Replace a finding by the shortest one; `others` receives other findings on the way."""
    trial = _trial(how, lambda found: found.key == finding.key, partial(keep, others))
    if how.again is not None:
        trial = _only_untried(run, how, finding, trial)
    shorter = shrink(finding, trial, run.graphs)
    run.findings[finding.key] = run.confirmed[finding.key] = shorter
    if not how.is_over():
        run.minimal[finding.key] = shorter


def _only_untried(run: Verification, how: Replayer, finding: Finding, trial: Trial) -> Trial:
    """Tries only what earlier rounds have not tried for the finding: replays take long."""

    def untried(sequences: list[Sequence]) -> Finding | None:
        pending = {
            key: each
            for each in sequences
            if (key := (finding.key, each.steps, *each.broker.items())) not in run.tried
        }
        found = trial(list(pending.values()))
        if found is None and not how.is_over():
            run.tried.update(pending)
        return found

    return untried


def _is_shorter(run: Verification, finding: Finding) -> bool:
    known = run.findings.get(finding.key)
    return known is not None and length_of(finding) < length_of(known)


def conclude(run: Verification, how: Replayer) -> None:
    """Make one finding of each deviation, and each finding canonical in virtual time."""
    confirm(run, how)
    run.search.drop_needless()
    run.drop_explained()
    every = [*run.findings.values(), *run.search.findings()]
    done = run.progress("making findings minimal", len(every))
    # The graph with the deviations has no rule that the port lacks.
    graphs = list(dict.fromkeys([*run.kafka_graphs, *run.graphs]))

    def shortest(finding: Finding) -> None:
        if how.again is not None and finding.cause is None and not run.is_minimal(finding):
            _minimise_one(run, how, {}, finding)
            finding = run.findings[finding.key]
        trial = _trial(how, lambda other: _is_same(run, finding, other))
        small = shrink(finding, trial, run.graphs) if finding.cause else finding
        if how.again is None:
            small = canonicalise(small, trial, graphs)
        small = excusing_least(run, small._replace(cause=finding.cause))
        run.findings[small.key] = small

    how.each(_counted(shortest, done), every)


def _is_same(run: Verification, finding: Finding, other: Finding) -> bool:
    """Whether another finding has the cause of this one."""
    if finding.cause is None:
        return other.key == finding.key
    return run.search.explains(other)


def excusing_least(run: Verification, finding: Finding) -> Finding:
    """The finding with the fewest other deviations that its sequence needs."""
    *before, _last = finding.exchanges or (None,)
    test = ObservedTest.of(finding)._replace(exchanges=tuple(before))
    excused = finding.sequence.deviations
    if test.allowed_by(run.profile):
        excused = ()
    for each in excused:
        fewer = tuple(other for other in excused if other is not each)
        if test.allowed_by(deviating(run.profile, fewer)):
            excused = fewer
    return _with_excused(run, finding, excused)


def _with_excused(run: Verification, finding: Finding, excused: Deviations) -> Finding:
    """The finding if only these deviations are allowed."""
    if excused == finding.sequence.deviations:
        return finding
    if finding.failure is not None:
        return finding._replace(sequence=finding.sequence._replace(deviations=excused))
    found = ObservedTest.of(finding).finding(deviating(run.profile, excused))
    return finding if found is None else found._replace(cause=finding.cause)


def _trial(
    how: Replayer,
    is_same: Callable[[Finding], bool],
    other: Callable[[Finding], object] = lambda _other: None,
) -> Trial:
    """Tries sequences until a finding is the same; `other` receives those that are not."""

    def trial(sequences: list[Sequence]) -> Finding | None:
        for found in how.replays(sequences):
            if found is not None and is_same(found):
                return found
            if found is not None:
                other(found)
        return None

    return trial
