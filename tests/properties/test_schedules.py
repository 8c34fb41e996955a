"""The size of a run on a real clock, tested with a virtual clock so that it need not wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from random import Random

import pytest

from groupcheck.model.classic.instances.inputs import PROTOCOLS
from groupcheck.model.classic.instances.instance import DELAY, real_clock_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.edits import DropRule
from groupcheck.model.vocabulary import (
    Assignment,
    JoinGroupRequest,
    OffsetFetchRequest,
    Request,
    SyncGroupRequest,
)
from groupcheck.properties import schedules, verify
from groupcheck.properties.coverage.transition_coverage import Coverage
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.deviations.observed import count_covered
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.minimising import Replayer, concurrently, confirm, minimise
from groupcheck.properties.ports.settings import BrokerSettings
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.progress import Timed
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.run import replay
from groupcheck.properties.schedules import real_time
from groupcheck.properties.sequence import Sequence
from groupcheck.properties.verify import TimeOverError, Verification
from support.model_port import ModelPort

NEW = PROFILES["2.7"]
EXAMPLES = 5


def _verify(*edits: DropRule, time_s: int = 0) -> Result:
    return _run(*edits, time_s=time_s).result


def _run(*edits: DropRule, time_s: int = 0) -> Verification:
    run = _verification(*edits, time_s=time_s)
    run.run()
    return run


def _verification(*edits: DropRule, time_s: int = 0) -> Verification:
    seeds, model = count(), deviating(NEW, edits)
    source = PortSource(
        "model",
        lambda: ModelPort(next(seeds), model),
        broker_settings=lambda: BrokerSettings({DELAY: 0}),
    )
    settings = Settings(members=1, examples=EXAMPLES, time_s=time_s)
    return Verification(source, settings, schedule=real_time)


def test_without_a_time_a_broker_is_tried_with_as_many_sequences_as_examples() -> None:
    assert _verify().sequences == EXAMPLES


def test_with_a_time_sequences_run_until_every_transition_was_tried() -> None:
    result = _verify(time_s=100)
    (order,) = result.instances
    assert result.sequences > EXAMPLES
    assert result.conforms
    assert order.transitions.untried == 0
    assert order.transitions.covered > 0.9 * order.transitions.total
    assert not result.time_over


def test_with_a_time_a_tour_that_finds_nothing_goes_on_to_the_end() -> None:
    phases: list[str] = []
    run = _verification(time_s=100)

    def note(what: str, _total: int | None) -> Callable[[int], None]:
        phases.append(what)
        return lambda _done: None

    run.progress = Timed(note)
    run.run()
    assert phases.count("sequences on a real clock") == 1
    assert run.result.sequences > EXAMPLES


def test_with_a_time_what_is_behind_a_deviation_is_tried_too() -> None:
    edit = DropRule("heartbeat/other-generation")
    result = _verify(edit, time_s=100)
    (order,) = result.instances
    assert [str(finding.cause) for finding in result.findings] == [str(edit)]
    assert order.transitions.untried == 0


def test_what_earlier_tests_show_by_the_rules_of_a_deviation_is_covered() -> None:
    edit = DropRule("heartbeat/other-generation")
    run = _run(edit, time_s=100)
    (coverage,) = run.coverages.values()
    again = Coverage(coverage.space, Random(0))
    for test, failed in run.tests:
        count_covered(test, again, deviating(NEW, (edit,)), failed=failed)
    assert again.shown == coverage.shown
    assert again.diverged == set()
    assert len(run.tests) == run.result.sequences


def test_after_the_time_no_sequence_is_replayed_to_make_a_finding_minimal() -> None:
    run = _run()

    def over() -> None:
        raise TimeOverError

    run.check_interruption = over
    with pytest.raises(TimeOverError), concurrently(run, 1) as how:
        list(how.replays([Sequence("2.7", {}, ())]))


def test_deviations_found_in_time_excuse_only_what_their_traces_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def over(*_: object) -> None:
        raise TimeOverError

    for module in (schedules, verify):
        monkeypatch.setattr(module, "conclude", over)
    edits = DropRule("heartbeat/other-generation"), DropRule("sync/stable")
    result = _verify(*edits, time_s=100)
    assert {str(finding.cause) for finding in result.findings} == set(map(str, edits))
    assert [finding.sequence.deviations for finding in result.findings] == [(), ()]


def test_finding_that_recurs_is_explained_before_it_is_minimal() -> None:
    run, failed = _with_a_long_finding(), Counter[tuple[Input, ...]]()
    assert not run.adopt()
    confirm(run, _replayer(run, failed, is_over=True))
    assert (len(run.confirmed), run.minimal, run.adopt()) == (1, {}, True)


def test_finding_that_does_not_recur_is_dropped() -> None:
    run = _with_a_long_finding()
    never = Replayer(lambda _: (), lambda _, __: None, lambda sequences: [None] * len(sequences))
    confirm(run, never)
    assert (run.findings, run.confirmed, run.result.not_reproduced) == ({}, {}, 1)


def test_finding_is_not_minimal_until_a_round_has_the_time_for_it() -> None:
    run, failed = _with_a_long_finding(), Counter[tuple[Input, ...]]()
    minimise(run, _replayer(run, failed, is_over=True))
    assert (len(run.findings), run.minimal) == (1, {})
    minimise(run, _replayer(run, failed, is_over=False))
    (finding,) = run.minimal.values()
    apis = [step.api for step in finding.sequence.steps if isinstance(step, Request)]
    assert apis == ["JoinGroup", "SyncGroup", "SyncGroup"]


def test_later_round_does_not_replay_what_has_not_shown_the_finding() -> None:
    run, failed = _with_a_long_finding(), Counter[tuple[Input, ...]]()
    long = dict(run.findings)
    for _ in range(2):
        run.findings.update(long)
        minimise(run, _replayer(run, failed, is_over=False))
    assert max(failed.values()) == 1


def _with_a_long_finding() -> Verification:
    run = _verification(DropRule("sync/stable"))
    run.explore(lambda: real_clock_instances(NEW, 1, {DELAY: 0}))
    join = JoinGroupRequest("group", 60_000, 60_000, "", None, "consumer", PROTOCOLS)
    sync = SyncGroupRequest("group", 1, "#1", assignments=(Assignment("#1", b"all"),))
    fetch = OffsetFetchRequest("group", None)
    steps = (
        Request(1, 3, join),
        Request(2, 6, fetch),
        Request(3, 3, sync),
        Request(4, 6, fetch),
        Request(5, 3, sync),
    )
    with run.port() as port:
        finding = replay(Sequence("2.7", {DELAY: 0}, steps), port)
    assert finding is not None
    run.findings[finding.key] = finding
    return run


def _replayer(run: Verification, failed: Counter[tuple[Input, ...]], *, is_over: bool) -> Replayer:
    """Replays one by one, and counts the sequences without a finding."""

    def replays(sequences: list[Sequence]) -> Iterator[Finding | None]:
        for sequence in sequences:
            with run.port() as port:
                finding = replay(sequence, port)
            failed[sequence.steps] += finding is None
            yield finding

    return Replayer(
        lambda sequences: () if is_over else replays(sequences),
        lambda do, found: list(map(do, found)),
        replays,
        lambda: is_over,
    )
