"""Why an answer is not correct: the lines of a finding and the values of result.json."""

from __future__ import annotations

import pytest

from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.state import Advance
from groupcheck.model.engine.rules import VersionRule
from groupcheck.model.vocabulary import HeartbeatRequest, Request
from groupcheck.properties.findings.counterfactual import Unapplied
from groupcheck.properties.findings.explanation import Explanation
from groupcheck.properties.temporal.property import Property
from groupcheck.reports import finding_record
from groupcheck.reports.finding_text import text_of
from support.small_findings import finding_of, member_list_for_a_follower


def test_the_violated_property_is_printed_with_its_source() -> None:
    finding = member_list_for_a_follower()
    rules, violated = finding_record.explained(finding)
    assert rules == ()
    assert violated
    assert (violated.name, violated.source) == ("member-list", "GroupCoordinator.scala:1228")
    assert text_of(finding).endswith(
        f"It violates the property member-list:\n  {violated.description} [{violated.source}]\n"
    )


def test_an_explanation_has_the_rule_the_earlier_rule_and_whether_its_guard_holds() -> None:
    stale = Request(2, 4, HeartbeatRequest(GROUP_ID, 0, "#1"))
    fault = "a heartbeat from an old generation is accepted"
    (first, second), _ = finding_record.explained(finding_of(fault, Advance(3_000), stale))
    assert (first.rule, first.source) == ("heartbeat/alive", "GroupCoordinator.scala:643")
    assert first.guard_holds
    assert first.timer_left_ms is None
    assert first.earlier_rule
    assert first.earlier_rule.rule == "heartbeat/other-generation"
    assert (second.rule, second.guard_holds) == ("heartbeat/loading", False)
    assert second.earlier_rule is None


def test_each_reason_has_a_sentence_and_only_five_rules_are_printed() -> None:
    one = VersionRule("a/one", "it is one", "One.scala:1", (), ())
    other = VersionRule("a/other", "it is other", "KIP-1", (), ())
    unapplied = (
        Unapplied(one, other, guard_holds=True),
        Unapplied(one, other),
        Unapplied(one),
        Unapplied(other, timer_left_ms=61_000),
        *[Unapplied(other)] * 3,
    )
    prop = Property("a-prop", "it holds", "One.scala:7")
    finding = member_list_for_a_follower()
    finding = finding._replace(sequence=finding.sequence._replace(profile="4.1"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finding_record, "explain", lambda _finding: Explanation(unapplied, prop))
        lines = text_of(finding).splitlines()
    assert lines[lines.index("This would be correct if") :] == [
        "This would be correct if",
        "  it is one [One.scala:1]",
        "    (an earlier check applies: it is other [KIP-1])",
        "  it is one [One.scala:1]",
        "    (its condition does not hold, and an earlier check applies: it is other [KIP-1])",
        "  it is one [One.scala:1]",
        "    (its condition does not hold)",
        "  it is other [KIP-1]",
        "    (its timer has 1 min 1 s left)",
        "  it is other [KIP-1]",
        "    (its condition does not hold)",
        "  or by 2 other rules",
        "It violates the property a-prop:",
        "  it holds [One.scala:7 at 2.7.2]",
    ]
