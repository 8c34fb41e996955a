"""Makes the findings of a verification minimal: tries shorter sequences on the port."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import TYPE_CHECKING, Final

from groupcheck.properties.findings.canonicalise import canonicalise
from groupcheck.properties.findings.finding import Finding, keep, length_of
from groupcheck.properties.findings.shrink import shrink
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence

if TYPE_CHECKING:
    from groupcheck.properties.verify import Verification

# How often a sequence is tried: the port may choose otherwise the next time.
CHANCES: Final = 3

# How many tests may hang while instances are toured, and as many again while findings are made
# minimal: each is waited for.
MOST_HANGS: Final = 3

# Runs a sequence again, and returns what it finds.
Replay = Callable[[Sequence], Finding | None]


def minimise(run: Verification) -> None:
    """Make the findings minimal and canonical, on one port in virtual time."""
    raw = run.kept()
    if not raw:
        return
    done = run.progress("making findings minimal", len(raw))
    canonical: dict[tuple[str, ...], Finding] = {}
    with run.port() as port:  # in this thread, where a port that hangs can be interrupted
        replays = _Replays(run, port)
        for key in [finding.key for finding in raw]:
            small = shrink(run.findings[key], replays.first, run.graphs)
            if length_of(small) <= length_of(run.findings[key]):
                run.findings[key] = small
            small = canonicalise(run.findings[key], replays.first, run.graphs)
            run.findings[key] = canonical[key] = small
            done(1)
    # A replay for another finding may have found it again, in fewer steps: the canonical one stays.
    run.findings |= canonical


class _Replays:
    """Replays on one port, until it hangs too often."""

    def __init__(self, run: Verification, port: Port) -> None:
        self._run = run
        self._port = port
        self._hangs = 0

    def first(self, sequences: list[Sequence], key: tuple[str, ...]) -> Finding | None:
        """The first finding with the key."""
        return _first(self._each(sequences), key)

    def _each(self, sequences: list[Sequence]) -> Iterator[Finding | None]:
        for sequence in chain.from_iterable(repeat(s, CHANCES) for s in sequences):
            if self._hangs >= MOST_HANGS:
                return
            self._run.check_interruption()
            finding = replay(sequence, self._port)
            self._hangs += finding is not None and finding.hung
            if finding is not None and finding.key in self._run.findings:
                keep(self._run.findings, finding)  # perhaps in fewer steps than are known
            yield finding


def minimise_concurrently(run: Verification, concurrent: int, once: Replay | None = None) -> None:
    """Make the findings minimal on a real clock, all at the same time; drop what does not recur.

    `once` replays a sequence, by default on a port of its own.
    """
    raw = run.kept()
    if not raw:
        return
    done = run.progress("making findings minimal", len(raw))

    def replay_once(sequence: Sequence) -> Finding | None:
        with run.port() as port:
            return replay(sequence, port)

    with run.pool(concurrent) as replays, run.pool(len(raw)) as pool:

        def first(sequences: list[Sequence], key: tuple[str, ...]) -> Finding | None:
            return _first(replays.map(once or replay_once, sequences), key)

        def smallest(finding: Finding) -> None:
            small: Finding | None = shrink(finding, first, run.graphs)
            if small is finding:  # no replay found it again: was it an accident?
                small = first([finding.sequence] * CHANCES, finding.key)
            if small is None:
                del run.findings[finding.key]
            else:
                run.findings[finding.key] = small
            done(1)

        list(pool.map(smallest, raw))
    run.result.not_reproduced += len(raw) - len(run.findings)


def _first(found: Iterator[Finding | None], key: tuple[str, ...]) -> Finding | None:
    return next((finding for finding in found if finding is not None and finding.key == key), None)
