"""`groupcheck rules` lists rules, and the difference between two versions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import pytest

from groupcheck.model.classic.profiles import PARTS, PROFILES
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE, MINORS
from groupcheck.model.engine.rules import Table
from groupcheck.reports import rules
from groupcheck.reports.confirmed import confirmed

NAMES = tuple(PROFILES)
PAIRS = [*product(NAMES, NAMES), *pairwise(EVERY_PROFILE), ("2.7", "3.9")]


@pytest.mark.parametrize("name", EVERY_PROFILE)
def test_a_listing_has_every_rule_of_the_version_once_with_its_source_and_what_is_confirmed(
    name: str, printed: Callable[..., str]
) -> None:
    lines = printed("rules", "--profile", name).splitlines()
    for rule in EVERY_PROFILE[name].rules.values():
        found = confirmed().get((name, rule.id))
        counted = f"  confirmed {found}" if found else ""
        assert lines.count(f"  {rule.id}  [{rule.source}]{counted}") == 1


def test_the_difference_of_a_version_to_itself_is_none(printed: Callable[..., str]) -> None:
    (line,) = printed("rules", "--diff", "4.1", "4.1").splitlines()
    assert ": no difference, " in line


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_difference_names_every_rule_that_only_one_version_has(
    one: str, other: str, printed: Callable[..., str]
) -> None:
    out = printed("rules", "--diff", one, other)
    only = EVERY_PROFILE[one].rules.keys() ^ EVERY_PROFILE[other].rules.keys()
    assert out.count("[no such rule]") == len(only)
    assert all(f"\n  {rule}: " in out for rule in only)


@pytest.mark.parametrize("name", MINORS)
def test_the_difference_of_a_minor_version_to_the_one_it_is_made_of_has_its_own_lines(
    name: str, printed: Callable[..., str]
) -> None:
    out = printed("rules", "--diff", "2.7", name)
    own = {r.source for r in MINORS[name].rules.values() if " of " in r.source}
    assert own
    assert all(f"{name} [{source}]" in out for source in own)


def test_a_cell_and_its_differences_fit_one_screen(printed: Callable[..., str]) -> None:
    where = ("--api", "joingroup", "--state", "completingrebalance", "--diff", "2.7", "4.1")
    out = printed("rules", *where)
    lines = out.splitlines()
    at = lines.index(
        "  join/changed-completing: a member's metadata has changed, which forces a rebalance"
    )
    assert lines[at + 1 : at + 3] == [
        "    2.7 [GroupCoordinator.scala:311]  4.1 [GroupMetadataManager.java:6494]",
        "      only 4.1 then update the member's timeouts (KAFKA-14009)",
    ]
    assert lines[at + 3].startswith("      both     then update the member's protocols")
    assert lines[at - 1] == "JoinGroup with a member id: in CompletingRebalance"
    assert len(lines) <= 50
    assert "join/leader-stable" not in out


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_with_all_a_difference_names_every_rule_of_both_versions_once(
    one: str, other: str, printed: Callable[..., str]
) -> None:
    lines = printed("rules", "--diff", one, other, "--all").splitlines()
    rules = {**EVERY_PROFILE[one].rules, **EVERY_PROFILE[other].rules}
    heads = [line.strip().partition(": ")[0] for line in lines]
    assert all(heads.count(rule) == 1 for rule in rules)


def test_the_beginning_of_an_id_selects_rules(printed: Callable[..., str]) -> None:
    out = printed("rules", "--diff", "2.7", "4.1", "--rule", "leave/pending", "--all")
    heads = [line.split(":")[0] for line in out.splitlines() if line.startswith("  leave/")]
    assert heads == ["  leave/pending-static", "  leave/pending-member"]


def test_a_heading_of_the_page_selects_its_table(printed: Callable[..., str]) -> None:
    lines = printed("rules", "--api", "the append of a static member's new id completes").split(
        "\n"
    )
    ids = ["log/new-id-outdated", "log/new-id-failed", "log/new-id-stored"]
    assert [line.split()[0] for line in lines if line.startswith("  log/")] == ids
    older = ("rules", "--api", "Unload", "--diff", "0.10.0", "0.10.2")
    assert printed(*older, "--all").count("failover/") == 1


def test_a_rule_that_neither_version_has_is_said(printed: Callable[..., str]) -> None:
    (line,) = printed(*("rules", "--rule", "log/new-id", "--diff", "0.10.0", "0.10.2")).splitlines()
    assert line.endswith(": neither has such a rule")


def test_an_api_that_a_version_does_not_have_is_said(printed: Callable[..., str]) -> None:
    out = printed("rules", "--api", "TxnOffsetCommit", "--diff", "0.10.0", "2.7")
    assert "\nTxnOffsetCommit (not in 0.10.0)\n" in out


def test_a_state_that_a_version_does_not_have_is_said(run: Callable[..., Any]) -> None:
    ran = run("rules", "--profile", "0.10.0", "--state", "Empty", "--api", "SyncGroup")
    assert "there is no Empty state" in ran.err


def test_no_group_is_a_state_of_its_own(printed: Callable[..., str]) -> None:
    out = printed("rules", "--profile", "2.7", "--api", "DeleteGroups", "--state", "none")
    assert "delete/no-group" in out
    assert "delete/not-empty" not in out


@pytest.mark.parametrize("name", NAMES)
def test_a_state_leaves_out_the_rules_that_ask_for_another_state(
    name: str, printed: Callable[..., str]
) -> None:
    out = printed("rules", "--profile", name, "--state", "Stable", "--api", "Heartbeat")
    assert "heartbeat/alive" in out
    assert "heartbeat/preparing" not in out


def test_a_difference_in_a_state_begins_with_the_rules_that_name_the_state(
    printed: Callable[..., str],
) -> None:
    out = printed(
        "rules", "--api", "JoinGroup", "--state", "Stable", "--diff", "2.7", "4.1", "--all"
    )
    before, _, after = out.partition(": in every state\n")
    assert "join/changed-stable" in before
    assert "join/loading" in after
    assert "join/changed-stable" not in after


@pytest.mark.parametrize("name", ["3.9", "4.1"])
def test_a_state_leaves_out_a_rule_of_two_other_states(
    name: str, printed: Callable[..., str]
) -> None:
    where = ("rules", "--profile", name, "--api", "TxnOffsetCommit", "--state")
    assert "txn-commit/simple" in printed(*where, "Empty")
    assert "txn-commit/simple" in printed(*where, "none")
    assert "txn-commit/simple" not in printed(*where, "Stable")


def test_the_page_has_every_rule_once_and_a_link_for_each_version_that_has_it() -> None:
    lines = rules.page().splitlines()
    for part in PARTS:
        for rule in part.rules if isinstance(part, Table) else ():
            (row,) = (line for line in lines if line.startswith(f"| `{rule.id}`<br>"))
            assert row.count("](https://github.com/apache/kafka/blob/") == len(rule.sources)
