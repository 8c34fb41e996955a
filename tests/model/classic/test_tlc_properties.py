"""TLC checks the properties that the specification states; TLC and Python find the same violations.

In `tlc.tsv` each row is of a run in which TLC found no state and no step that violates one of the
properties of the instance's configuration.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from groupcheck.model.classic.instances.instance import instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.properties.temporal.known_violations import known_violations
from groupcheck.properties.temporal.property import ActionProperty, Invariant
from groupcheck.properties.temporal.safety import INVARIANTS, violations
from support import tla, tla_config
from support.spaces import whole
from support.tlc_record import cases

# The properties that versions of Kafka violate, each with an instance that shows it, and the number
# of its members.
BROKEN: Final = {
    ("0.10.0", "JoinPhaseEndsAtOnce"): ("metadata", 2),
    ("0.10.0", "AnsweredOnce"): ("metadata", 1),
    ("0.10.0", "SubscribedOffsetsNotExpired"): ("expiry", 1),
    ("0.10.0", "NoExpiryInRebalance"): ("expiry", 1),
    ("0.10.2", "JoinPhaseEndsAtOnce"): ("metadata", 2),
    ("0.10.2", "NoOrphanedTimers"): ("membership", 2),
    ("0.10.2", "AnsweredOnce"): ("metadata", 1),
    ("0.10.2", "SubscribedOffsetsNotExpired"): ("expiry", 1),
    ("0.10.2", "NoExpiryInRebalance"): ("expiry", 1),
    ("0.10.2", "PendingCommitEnds"): ("expiry", 1),
    ("2.7", "NoRebalanceWithoutMembers"): ("membership", 2),
    ("2.7", "InstanceIdsOfMembers"): ("crowded", 2),
    ("2.7", "UniqueInstanceIds"): ("crowded", 2),
    ("2.7", "OffsetRetention"): ("expiry", 1),
    ("2.7", "NoExpiryInRebalance"): ("expiry", 1),
    ("2.7", "JoinPhaseLimit"): ("static", 2),
    ("4.1", "NoRebalanceWithoutMembers"): ("membership", 2),
    ("4.1", "AssignedOnlyInStable"): ("membership", 2),
    ("4.1", "JoinPhaseEndsAtOnce"): ("crowded", 2),
    ("4.1", "SyncAwaitedOfMembers"): ("static", 2),
    ("4.1", "Generation"): ("expiry-failing", 1),
    ("4.1", "UnansweredRequests"): ("failing-administration", 1),
    ("4.1", "OnlyEmptyGroupsRemoved"): ("failing-administration", 1),
    ("4.1", "OffsetRetention"): ("expiry", 1),
    ("4.1", "HeartbeatsAndCommitsKeepMembers"): ("failing-administration", 1),
    ("4.1", "GenerationCause"): ("expiry-failing", 1),
    ("4.1", "JoinPhaseLimit"): ("static", 2),
}


class Edit(NamedTuple):
    """Text of a module, an edit that violates a property, and an instance of 2.7 that shows it."""

    module: str
    old: str
    new: str
    instance: str
    members: int = 1


# For each property that every version keeps.
EDITS: Final = {
    "Leader": Edit(
        "Rebalance", "IF s.group.leader \\notin names THEN", "IF TRUE THEN", "membership", 2
    ),
    "ProtocolSupported": Edit(
        "Rebalance",
        "!.isNew = FALSE, !.idKnown",
        "!.isNew = FALSE, !.protocols = <<>>, !.idKnown",
        "metadata",
        2,
    ),
    "ProtocolVoted": Edit(
        "Rebalance",
        "!.isNew = FALSE, !.idKnown",
        "!.isNew = FALSE, !.protocols = <<>>, !.idKnown",
        "metadata",
        2,
    ),
    "WaitingDoesNotExpire": Edit(
        "Rebalance",
        "!.sessionLeft = IF s.group.members[n].isNew THEN @ ELSE Stopped",
        "!.sessionLeft = @",
        "membership",
        2,
    ),
    "StateTransitions": Edit(
        "Rebalance",
        '!.state = "CompletingRebalance", !.protocolName',
        '!.state = "Stable", !.protocolName',
        "metadata",
    ),
    "OneLeader": Edit(
        "Rebalance",
        "!.generation = g.generation, !.leader = g.leader",
        "!.generation = g.generation, !.leader = n",
        "metadata",
        2,
    ),
    "MemberList": Edit(
        "Rebalance",
        'IF n = g.leader /\\ g.state = "CompletingRebalance"',
        'IF n = g.leader /\\ g.state = "Stable"',
        "metadata",
    ),
    "SessionTimers": Edit(
        "Timers", "!.sessionLeft = less(@)]", "!.sessionLeft = less(less(@))]", "membership"
    ),
    "ReadCommitted": Edit(
        "Log",
        'THEN [s EXCEPT !.group.transaction.status = IF @ = "held"',
        'THEN [s EXCEPT !.group.offset = entry.offset, !.group.transaction.status = IF @ = "held"',
        "transactions",
    ),
    "NewestOffsetWins": Edit(
        "Transactions",
        "readable == committed /\\ s.group.transaction.newer",
        "readable == committed",
        "transactions",
    ),
    "SubscribedOffsetsNotDeleted": Edit(
        "ConsumerGroup",
        'ELSE /\\ IF group.protocolType = "consumer" /\\ r.topic \\in group.subscribed',
        "ELSE /\\ IF FALSE",
        "administration",
    ),
    "ReadsChangeNothing": Edit(
        "Requests",
        "there == Answer([s EXCEPT !.group.notPersisted = FALSE],",
        "there == Answer([s EXCEPT !.group.leader = NoMember],",
        "metadata",
    ),
    "LeaderCause": Edit(
        "Rebalance",
        "IF DOMAIN g.members = {} \\/ g.leader \\in joined THEN",
        "IF DOMAIN g.members = {} THEN",
        "metadata",
        2,
    ),
    "InitialDelayCause": Edit(
        "Rebalance", 'IF g.state = "Empty" /\\ InitialDelay', "IF InitialDelay", "metadata"
    ),
    "InitialDelayExtension": Edit(
        "Timers", "timer.initial /\\ g.newMemberAdded /\\", "timer.initial /\\", "membership"
    ),
    "JoinPhaseNotCutShort": Edit(
        "Rebalance",
        "IF AllJoined(s.group) /\\ ~s.group.joinTimer.initial THEN",
        "IF AllJoined(s.group) THEN",
        "metadata",
        2,
    ),
    "SyncAnsweredAtOnce": Edit(
        "Session",
        "RestartTimer([g.members[n] EXCEPT !.awaitingSync = FALSE])",
        "RestartTimer(g.members[n])",
        "metadata",
    ),
    "JoinAnsweredAtOnce": Edit(
        "Rebalance",
        "RestartTimer([m EXCEPT !.awaitingJoin = FALSE])",
        "RestartTimer(m)",
        "metadata",
    ),
    "PendingIdLimit": Edit(
        "Requests", "With(@, n, SessionTicks)", "With(@, n, SessionTicks + 1)", "membership"
    ),
    "FetchedAsCommitted": Edit(
        "Requests", "THEN -1 ELSE g.offset.at]", "THEN -1 ELSE 0]", "storing"
    ),
    "OffsetsDurable": Edit("Log", "!.log.offset = entry.offset", "!.log.offset = @", "failover"),
    "RestoredAsRecorded": Edit(
        "Failover", "!.leader = r.leader", "!.leader = NoMember", "failover"
    ),
    "RestoredSessions": Edit(
        "Failover", "sessionLeft |-> SessionTicks", "sessionLeft |-> 1", "reload"
    ),
    "RestoredGeneration": Edit(
        "Failover", "!.generation = r.generation", "!.generation = 0", "failover"
    ),
    "FailedAppendWithoutEffect": Edit(
        "Log", "ELSE IF entry.error # NoError\n", "ELSE IF FALSE\n", "failing"
    ),
    "UnloadAnswersRequests": Edit(
        "Failover",
        "syncs == {n \\in members : g.members[n].awaitingSync}",
        "syncs == {}",
        "failover",
    ),
    "SizeOnLoad": Edit("Failover", "=< s.maxSize THEN {s}", "=< 0 THEN {s}", "failover"),
    "UnavailableChangesNothing": Edit(
        "ConsumerGroup",
        '\nIsRefused == ~active \\/ serving # "served"',
        "\nIsRefused == ~active",
        "failover",
    ),
    "DeadIsFinal": Edit("State", "generation     |-> 0", "generation     |-> 1", "metadata"),
}


def test_the_specification_states_each_invariant() -> None:
    text = tla_config.SPECIFICATION.read_text(encoding="utf-8")
    for prop in INVARIANTS:
        (name,) = (name for name, each in tla_config.NAMES.items() if each is prop)
        assert re.search(f"^{name} *==", text, re.MULTILINE)


def test_each_action_formula_of_the_specification_is_a_property() -> None:
    text = tla_config.SPECIFICATION.read_text(encoding="utf-8")
    stated = set(re.findall(r"^(\w+)[^\n]*==\s*\[\]\[", text, re.MULTILINE))
    actions = {name for name, prop in tla_config.NAMES.items() if isinstance(prop, ActionProperty)}
    assert stated - {"ObservedSpec"} == actions


def test_each_property_is_checked_but_where_a_version_is_known_to_break_it() -> None:
    for name, case in cases().items():
        version = name.partition(" ")[0]
        violated = {name for profile, name in BROKEN if profile == version}
        kept = tla_config.NAMES.keys() - violated
        for text in case.texts:
            _, head, lists = text.partition(tla.LIST)
            invariants, _, actions = lists.partition(tla_config.STEPS)
            assert head
            assert {*invariants.split(), *actions.split()} == kept
            for listed, kind in ((invariants, Invariant), (actions, ActionProperty)):
                assert all(isinstance(tla_config.NAMES[each], kind) for each in listed.split())


def test_each_property_is_broken_by_a_version_or_by_an_edit() -> None:
    assert {name for _, name in BROKEN} | EDITS.keys() == tla_config.NAMES.keys()
    known = {
        (version, name)
        for version, profile in PROFILES.items()
        for name, prop in tla_config.NAMES.items()
        if known_violations(profile, prop)
    }
    assert known == BROKEN.keys()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("version", "name", "instance", "members"),
    [(*which, *instance) for which, instance in BROKEN.items()],
)
def test_tlc_and_python_find_a_violation_after_as_few_steps(
    version: str, name: str, instance: str, members: int, tmp_path: Path
) -> None:
    modelled = instances(PROFILES[version], members)[instance]
    found = {each.property: each for each in violations(whole(modelled))}
    steps = len(found[tla_config.NAMES[name]].path)
    assert tla_config.counterexample(tla_config.config(instance, modelled), name, tmp_path) == steps


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", EDITS)
def test_tlc_finds_an_edit_that_breaks_a_property(name: str, tmp_path: Path) -> None:
    module, old, new, instance, members = EDITS[name]
    edited = tmp_path / "edited"
    edited.mkdir()
    for each in tla_config.FOLDER.glob("*.tla"):
        text = each.read_text(encoding="utf-8")
        if each.stem == module:
            assert text.count(old) == 1
            text = text.replace(old, new)
        (edited / each.name).write_text(text, encoding="utf-8")
    text = tla_config.config(instance, instances(PROFILES["2.7"], members)[instance])
    specification = edited / tla_config.SPECIFICATION.name
    assert tla_config.counterexample(text, name, tmp_path, specification) > 0
