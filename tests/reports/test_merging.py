"""Several results as one, and one beside an earlier one: exact counts of what comes of it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.properties.coverage.kind import SHOWN, Kind
from groupcheck.properties.result import Shares
from groupcheck.reports.changes import changes, lines
from groupcheck.reports.merging import Named, NotMergedError, merged
from groupcheck.reports.saved import Saved, Space
from support.saved_results import conforming, diverging

replace = msgspec.structs.replace
KINDS = st.lists(st.sampled_from([kind.value for kind in Kind]), min_size=6, max_size=6)


def _space(kinds: str, digest: str = "d") -> Space:
    figures = {f"edges_{n}": v for n, v in Shares.of(kinds)._asdict().items() if n != "edges"}
    edges = Shares.of(kinds).edges
    space = conforming().spaces[0]
    return replace(space, edges=edges, edge_kinds=kinds, digest=digest, **figures)


def _of(*spaces: Space) -> Saved:
    return replace(conforming(), spaces=spaces)


def _together(*several: Saved) -> Saved:
    return merged([Named(f"{place}.json", saved) for place, saved in enumerate(several)])


def test_one_alone_is_what_it_is() -> None:
    assert _together(diverging()) is diverging()


def test_coverage_is_united_and_findings_are_there_once() -> None:
    bad, good = diverging(), conforming()
    both = _together(bad, good, bad)
    assert bad.shown < good.shown == both.shown == both.edges
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
    assert set(both.rules.starved) == {*bad.rules.starved} & {*good.rules.starved}


@given(one=KINDS, other=KINDS)
def test_what_is_shown_by_either_is_shown_by_both_together(
    one: list[str], other: list[str]
) -> None:
    spaces = [_space("".join(kinds)) for kinds in (one, other)]
    (united,) = _together(*map(_of, spaces)).spaces
    shown = [
        place
        for place, pair in enumerate(zip(one, other, strict=True))
        if not SHOWN.isdisjoint(pair)
    ]
    assert [n for n, kind in enumerate(united.edge_kinds) if kind in SHOWN] == shown
    assert united.edges_shown == len(shown)
    back = _together(*map(_of, spaces[::-1]))
    assert back.spaces[0].edge_kinds == united.edge_kinds


def test_spaces_of_other_members_or_other_settings_stand_beside_each_other() -> None:
    one = _space("a")
    others = [replace(one, members=7), replace(one, broker={"x": 1}), replace(one, name="other")]
    assert _together(_of(one), _of(*others)).edges == 4


def test_what_is_of_another_model_or_version_is_refused() -> None:
    with pytest.raises(NotMergedError, match=r"membership of 1.json is of another model than 0"):
        _together(_of(_space("a")), _of(_space("a", "e")))
    with pytest.raises(NotMergedError, match=r"1.json is of Kafka 4.1 and 0.json of Kafka 2.7"):
        _together(conforming(), replace(conforming(), profile="4.1"))


def test_a_run_that_ended_early_is_not_mended_by_one_that_did_not() -> None:
    early = replace(conforming(), ended_early="interrupted")
    together = _together(conforming(), early)
    assert not together.conforms
    assert together.verdict == "interrupted, with nothing found until then"


def test_beside_a_baseline_findings_are_new_known_or_gone() -> None:
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
    assert lines(changes(conforming(), conforming())) == ["baseline   nothing has changed"]


@given(now=KINDS, before=KINDS)
def test_lost_edges_are_those_that_were_shown_and_are_not(
    now: list[str], before: list[str]
) -> None:
    changed = changes(_of(_space("".join(now))), _of(_space("".join(before))))
    places = tuple(n for n in range(6) if before[n] in SHOWN and now[n] not in SHOWN)
    assert [lost.edges for lost in changed.lost] == ([places] if places else [])
    assert not changed.fails
    failing = changes(_of(_space("".join(now))), _of(_space("".join(before))), lost_fails=True)
    assert failing.fails == bool(places)


def test_a_space_that_is_not_there_any_more_is_lost_whole_and_one_of_another_model_is_said() -> (
    None
):
    gone = changes(_of(_space("a")), _of(_space("a"), replace(_space("aah-"), name="gone")))
    assert [(lost.name, lost.how_many) for lost in gone.lost] == [("gone/1", "3 labelled edges")]
    other = changes(_of(_space("u")), _of(_space("a", "e")))
    assert other.not_compared == ("membership/1",)
    assert not other.lost
    assert lines(other) == ["not held   of another model now: membership/1"]
