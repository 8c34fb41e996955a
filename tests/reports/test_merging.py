"""Merging of results, and comparison with a baseline, with exact counts."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.properties.coverage.kind import SHOWN, Kind
from groupcheck.properties.result import InstanceCoverage, TransitionCounts
from groupcheck.reports.changes import changes, lines
from groupcheck.reports.merging import Named, NotMergedError, merged
from groupcheck.reports.record import ResultRecord
from support.saved_results import conforming, diverging

replace = msgspec.structs.replace
KINDS = st.lists(st.sampled_from([kind.value for kind in Kind]), min_size=6, max_size=6)


def _instance(outcomes: str, digest: str = "d") -> InstanceCoverage:
    counts = TransitionCounts.of(outcomes)
    first = conforming().instances[0]
    return replace(first, transitions=counts, outcomes=outcomes, digest=digest)


def _of(*instances: InstanceCoverage) -> ResultRecord:
    return replace(conforming(), instances=instances)


def _together(*several: ResultRecord) -> ResultRecord:
    return merged([Named(f"{place}.json", saved) for place, saved in enumerate(several)])


def test_a_single_result_is_returned_unchanged() -> None:
    assert _together(diverging()) is diverging()


def test_coverage_is_united_and_each_finding_is_there_once() -> None:
    bad, good = diverging(), conforming()
    both = _together(bad, good, bad)
    assert bad.covered < good.covered == both.covered == both.transitions
    assert both.findings == bad.findings
    assert len(both.findings) == 2
    assert both.sequences == 2 * bad.sequences + good.sequences
    assert len(both.runs) == 3
    assert both.port == "faulty, builtin"
    assert not both.conforms
    assert both.verdict == "diverges from Apache Kafka 2.7.2: 2 findings"
    assert _together(good, good).conforms
    assert both.rules
    assert bad.rules
    assert good.rules
    assert set(both.rules.applied) == {*bad.rules.applied, *good.rules.applied}
    assert set(both.rules.not_applied) == {*bad.rules.not_applied} & {*good.rules.not_applied}


@given(one=KINDS, other=KINDS)
def test_transitions_covered_by_either_result_are_covered(one: list[str], other: list[str]) -> None:
    instances = [_instance("".join(kinds)) for kinds in (one, other)]
    (united,) = _together(*map(_of, instances)).instances
    shown = [
        place
        for place, pair in enumerate(zip(one, other, strict=True))
        if not SHOWN.isdisjoint(pair)
    ]
    assert [n for n, kind in enumerate(united.outcomes) if kind in SHOWN] == shown
    assert united.transitions.covered == len(shown)
    back = _together(*map(_of, instances[::-1]))
    assert back.instances[0].outcomes == united.outcomes


def test_instances_with_other_members_or_settings_are_not_united() -> None:
    one = _instance("a")
    others = [replace(one, members=7), replace(one, broker={"x": 1}), replace(one, name="other")]
    assert _together(_of(one), _of(*others)).transitions == 4


def test_results_of_another_model_or_version_are_not_merged() -> None:
    with pytest.raises(
        NotMergedError, match=r"membership of 1.json is of another model than that of 0"
    ):
        _together(_of(_instance("a")), _of(_instance("a", "e")))
    with pytest.raises(NotMergedError, match=r"1.json is of Kafka 4.1 and 0.json of Kafka 2.7"):
        _together(conforming(), replace(conforming(), profile="4.1"))


def test_a_complete_run_does_not_make_up_for_an_incomplete_one() -> None:
    early = replace(conforming(), ended_early="interrupted")
    together = _together(conforming(), early)
    assert not together.conforms
    assert together.verdict == "interrupted; no finding so far"


def test_findings_are_new_known_or_gone_since_a_baseline() -> None:
    bad = diverging()
    first, second = bad.findings
    now, before = (replace(bad, findings=(finding,)) for finding in (first, second))
    changed = changes(now, before)
    assert (changed.new, changed.known, changed.gone) == ((first,), (), (second,))
    assert changed.fails
    assert lines(changed) == [
        f"new        1 finding: {first.id}",
        f"gone       1 finding: {second.id}",
    ]
    same = changes(bad, bad)
    assert (same.new, same.known, same.gone, same.lost) == ((), bad.findings, (), ())
    assert not same.fails
    assert changes(bad, None).new == bad.findings
    assert lines(changes(bad, None)) == []
    assert lines(changes(conforming(), conforming())) == ["baseline   no change"]


@given(now=KINDS, before=KINDS)
def test_lost_transitions_are_covered_by_the_baseline_alone(
    now: list[str], before: list[str]
) -> None:
    changed = changes(_of(_instance("".join(now))), _of(_instance("".join(before))))
    places = tuple(n for n in range(6) if before[n] in SHOWN and now[n] not in SHOWN)
    assert [lost.transitions for lost in changed.lost] == ([places] if places else [])
    assert not changed.fails
    failing = changes(
        _of(_instance("".join(now))), _of(_instance("".join(before))), lost_fails=True
    )
    assert failing.fails == bool(places)


def test_a_missing_instance_is_lost_and_one_of_another_model_is_not_compared() -> None:
    gone = changes(
        _of(_instance("a")), _of(_instance("a"), replace(_instance("aah-"), name="gone"))
    )
    assert [(lost.name, lost.how_many) for lost in gone.lost] == [("gone/1", "3 transitions")]
    other = changes(_of(_instance("u")), _of(_instance("a", "e")))
    assert other.not_compared == ("membership/1",)
    assert not other.lost
    assert lines(other) == ["skipped    not comparable, the model has changed: membership/1"]
