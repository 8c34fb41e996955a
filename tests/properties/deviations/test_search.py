"""The search for deviations: an edited model is found to have the edits that were made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from groupcheck.model.classic.instances.inputs import NOBODY
from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.rules.membership import REBALANCE
from groupcheck.model.classic.rules.session import RESTART_SESSION
from groupcheck.model.classic.rules.timeouts import EXPIRE_MEMBER
from groupcheck.model.classic.rules.timers import PASS
from groupcheck.model.engine.edits import (
    AddEffect,
    ChangeAnswer,
    DropEffect,
    DropGuard,
    DropRule,
    Edit,
    Exchange,
    FromVersion,
    InsteadOf,
    OnlyAnswer,
    RequireGuard,
    SetBehaviour,
    Sometimes,
    about,
)
from groupcheck.model.vocabulary import (
    ErrorCode,
    JoinGroupResponse,
    Request,
    Response,
)
from groupcheck.properties.deviations.candidates import Stage, candidates
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.deviations.search import KnownDeviation, Search
from groupcheck.properties.explored import explored, virtual
from groupcheck.properties.findings.explanation import explain
from groupcheck.properties.ports.numbering import NumberedPort
from groupcheck.properties.ports.port import Observation, Port, PortInfo
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.run import DRAWS, replay
from groupcheck.properties.verify import Verification
from support.economy import slow_if
from support.faults import MADE_UP, source
from support.model_port import ModelPort
from support.spaces import together

NEW = PROFILES["2.7"]
SETTINGS = Settings(examples=0, walks=0)
PAGE = Path(__file__, "../../../../docs/deviations.md").resolve()

OTHER_GENERATION = DropRule("heartbeat/other-generation")
ANSWERED = ChangeAnswer("sync/other-generation", (("error_code", ErrorCode.UNKNOWN_MEMBER_ID),))
EDITS: list[Edit] = [
    OTHER_GENERATION,
    ANSWERED,
    DropGuard("join/changed-completing", "the group is CompletingRebalance"),
    DropEffect("rebalance/prepare-from-empty", "start the initial delay (KIP-134)"),
    Exchange("heartbeat/unknown-member", "heartbeat/other-generation"),
    FromVersion("sync/stable", PROFILES["4.1"].version),
    FromVersion("leave/member", PROFILES["4.1"].version),  # explains several tests
    SetBehaviour("leader-is-elected-at-completion", holds=True),
]


def _port(*edits: Edit, seed: int = 0) -> Port:
    return ModelPort(seed, deviating(NEW, edits))


def _verified(
    *edits: Edit,
    known: tuple[KnownDeviation, ...] = (),
    instance: str = "metadata",
    settings: Settings = SETTINGS,
) -> Result:
    given = together({instance: virtual_time_instances(NEW, 2)[instance]})
    source = PortSource("edited", lambda: _port(*edits))
    return Verification(source, settings, given=given, known=known).run()


def _causes(result: Result) -> list[str]:
    return [str(finding.cause) for finding in result.findings]


@pytest.mark.parametrize("edit", slow_if(lambda edit: edit not in EDITS[:2], EDITS), ids=str)
def test_each_edit_of_the_model_is_found_as_one_cause_or_cannot_be_seen(edit: Edit) -> None:
    result = _verified(edit)
    assert len(result.findings) <= 1
    assert None not in [finding.cause for finding in result.findings]
    for finding in result.findings:
        assert replay(finding.sequence, _port()) is None
        shown = (replay(finding.sequence, _port(edit, seed=seed)) for seed in range(DRAWS))
        assert any(found is not None for found in shown)  # the port may choose
    if edit in EDITS[:3]:
        assert _causes(result) == [str(edit)]


@pytest.mark.parametrize(
    ("rule", "effect", "instance"),
    [
        ("rebalance/complete-empty", "increment the generation", "metadata"),
        pytest.param(
            "sync/follower-completing",
            "stop the member's session timer",
            "membership",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_an_effect_that_shows_in_later_answers_is_one_exact_cause(
    rule: str, effect: str, instance: str
) -> None:
    edit = DropEffect(rule, effect)
    assert _causes(_verified(edit, instance=instance)) == [str(edit)]


@pytest.mark.slow
def test_a_port_that_rejects_a_request_in_one_state_has_one_cause_and_all_is_covered() -> None:
    error = InsteadOf(ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.INVALID_GROUP_ID)
    fields = (("error_code", error), ("generation_id", InsteadOf(0, -1)))
    for rule in ("join/new-member", "join/pending-member"):
        edit = OnlyAnswer(rule, "the group is CompletingRebalance", "join/invalid-group-id", fields)
        result = _verified(edit)
        assert _causes(result) == [str(edit)]
        assert result.covered_transitions == result.transitions


@pytest.mark.parametrize("rule", ["join/changed-completing", "join/leader-stable"])
def test_a_port_that_refuses_what_kafka_answers_at_once_has_one_exact_cause(rule: str) -> None:
    error = InsteadOf(ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.INVALID_GROUP_ID)
    fields = (("error_code", error), ("generation_id", InsteadOf(0, -1)))
    edit = OnlyAnswer(rule, "", "join/invalid-group-id", fields)
    given = together({"metadata": virtual_time_instances(NEW, 1)["metadata"]})
    refusing = PortSource("refusing", lambda: _port(edit))
    result = Verification(refusing, SETTINGS, given=given).run()
    assert _causes(result) == [str(edit)]
    assert result.covered_transitions == result.transitions


class _Accepting(ModelPort):
    """Accepts a JoinGroup of a member that is unknown, and then answers nothing any more."""

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        self._generation_id = 0
        return super().open(profile, config)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        seen = super().request(request, expected)
        if self._generation_id:
            return Observation()
        body = JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID, member_id=NOBODY)
        if seen.responses != (Response(request.request_id, body),):
            return seen
        self._generation_id = request.request_id
        joined = JoinGroupResponse(ErrorCode.NONE, self._generation_id, "consumer", "range")
        answer = joined._replace(leader=NOBODY, member_id=NOBODY)
        return Observation((Response(request.request_id, answer),))


@pytest.mark.slow
def test_what_follows_a_request_that_only_the_port_accepts_is_unknown_but_no_other_part() -> None:
    given = together({"metadata": virtual_time_instances(NEW, 2)["metadata"]})
    edited = deviating(NEW, (ANSWERED,))
    accepting = PortSource("accepting", lambda: _Accepting(edited=edited))
    result = Verification(accepting, SETTINGS, given=given).run()
    accepted: list[Edit] = []
    others: list[Edit | None] = []
    for cause in (finding.cause for finding in result.findings):
        if isinstance(cause, ChangeAnswer) and cause.ends:
            accepted.append(cause)
        else:
            others.append(cause)
    assert {about(cause) for cause in accepted} == {"join/no-group", "join/unknown-member"}
    assert others == [ANSWERED]
    assert result.covered_transitions == result.transitions
    beyond = Verification(accepting, Settings(walks=500, examples=100), given=given).run()
    rules = {about(finding.cause) for finding in beyond.findings if finding.cause is not None}
    assert rules >= {"join/no-group", "join/unknown-member", "sync/other-generation"}
    assert len(rules) == len(beyond.findings) <= 4  # also of static members


@pytest.mark.slow
def test_an_edit_of_another_table_replaces_a_nearer_one_that_later_tests_contradict() -> None:
    """It is wide: without assignments, no group becomes Stable."""
    edit = DropGuard("log/assignments-outdated", "the group no longer waits for the assignments")
    result = _verified(edit, instance="storing", settings=SETTINGS._replace(walks=100))
    assert _causes(result) == [str(edit)]


def test_each_candidate_is_an_edit_of_kafka_also_under_a_model_that_requires_other_guards() -> None:
    required = RequireGuard("sync/fenced", "the group is PreparingRebalance", holds=True)
    (finding,) = _verified(ANSWERED).findings
    model = deviating(NEW, (required,))
    found = candidates(Stage.GUARDED, finding, (), model)
    assert {about(edit) for edit in found} == {"sync/other-generation"}
    assert all(NEW.edited(edit).edits == (edit,) for edit in found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("bug", "instance", "cause"),
    [
        (
            "KAFKA-9885",
            "crowded",
            RequireGuard("join/group-full", "the member id is pending", holds=False),
        ),
        # It also creates the group with the empty id, of which the model knows nothing more.
        (
            "KAFKA-2596",
            "loners",
            DropGuard("commit/simple-no-group", "the request has no generation"),
        ),
        ("KAFKA-8220", "static", SetBehaviour("static-members-are-kept", holds=False)),
    ],
)
def test_a_bug_that_kafka_had_is_one_exact_cause_with_any_seed(
    bug: str, instance: str, cause: Edit, seed: int
) -> None:
    settings = Settings(NEW.name, examples=0, walks=500, seed=seed)
    given = explored({instance: virtual(NEW, settings)[instance]})
    result = Verification(source(bug), settings, given=given).run()
    assert _causes(result) == [str(cause)]


@pytest.mark.slow
def test_a_rule_that_does_not_apply_in_one_state_is_a_cause_though_its_api_has_no_such_guard() -> (
    None
):
    settings = Settings(NEW.name, examples=0, walks=0)
    given = explored({"metadata": virtual(NEW, settings)["metadata"]})
    result = Verification(source("KAFKA-6005"), settings, given=given).run()
    cause = RequireGuard("join/new-inconsistent", "the group is Empty", holds=False)
    assert _causes(result) == [str(cause)]


@pytest.mark.slow
def test_a_port_that_ends_each_join_phase_at_once_has_one_cause_and_all_is_covered() -> None:
    edit = SetBehaviour("members-are-awaited", holds=False)
    result = _verified(edit)
    assert _causes(result) == [str(edit)]
    assert result.covered_transitions == result.transitions


def test_two_edits_are_two_causes_and_all_later_transitions_are_covered() -> None:
    result = _verified(OTHER_GENERATION, ANSWERED)
    assert sorted(_causes(result)) == sorted(map(str, (OTHER_GENERATION, ANSWERED)))
    assert result.covered_transitions == result.transitions
    assert all(not finding.sequence.deviations for finding in result.findings)


def test_a_finding_is_explained_where_an_excused_deviation_leaves_no_rule_that_applies() -> None:
    error = (("error_code", ErrorCode.UNKNOWN_SERVER_ERROR),)
    (found,) = _verified(ChangeAnswer("heartbeat/unknown-member", error)).findings
    excusing = found.sequence._replace(deviations=(DropRule("heartbeat/alive"),))
    explained = explain(found._replace(sequence=excusing, cause=None)).rules
    others = {each.rule.id for each in explain(found).rules} - {"heartbeat/alive"}
    assert {each.rule.id for each in explained} == others


def test_the_maximum_of_findings_counts_causes_and_not_the_differences_that_they_explain() -> None:
    """These two edits show in three answers."""
    result = _verified(OTHER_GENERATION, ANSWERED, settings=SETTINGS._replace(max_findings=3))
    assert sorted(_causes(result)) == sorted(map(str, (OTHER_GENERATION, ANSWERED)))
    assert result.covered_transitions == result.transitions
    assert all(not finding.sequence.deviations for finding in result.findings)


def test_an_edit_that_shows_in_many_answers_is_one_cause_beside_another_one() -> None:
    always = DropGuard("join/not-coordinator", "this broker is not the group's coordinator")
    result = _verified(always, OTHER_GENERATION)
    assert _causes(result) == [str(always)]  # without members no heartbeat has a generation
    (finding,) = _verified(always, ANSWERED, DropRule("fetch/no-group")).findings
    assert finding.cause == always


@pytest.mark.slow
def test_a_field_that_differs_only_where_it_has_one_value_is_said_to_do_so() -> None:
    change = InsteadOf(7, -1)
    edit = ChangeAnswer("fetch/committed", (("topics.partitions.committed_offset", change),))
    result = _verified(edit, instance="storing")
    assert _causes(result) == [str(edit)]
    assert str(edit).endswith("committed_offset=7 instead of -1")


@pytest.mark.slow
@pytest.mark.parametrize("first", [2, 5])
def test_another_numbering_of_generations_is_one_cause_and_all_is_covered(first: int) -> None:
    space = {"metadata": virtual_time_instances(NEW, 2)["metadata"]}
    source = PortSource("numbered", lambda: NumberedPort(ModelPort(), 1 - first))
    result = Verification(source, SETTINGS, given=together(space)).run()
    assert _causes(result) == [f"the first generation number was {first}"]
    assert result.covered_transitions == result.transitions
    (finding,) = result.findings
    assert replay(finding.sequence, source.connect()) is not None
    assert replay(finding.sequence, ModelPort()) is None


@pytest.mark.slow
def test_known_deviations_conform_until_there_is_a_new_one_or_they_are_fixed() -> None:
    (finding,) = _verified(OTHER_GENERATION).findings
    known = (KnownDeviation(OTHER_GENERATION, finding.sequence),)
    again = _verified(OTHER_GENERATION, known=known)
    assert again.conforms
    assert _causes(again) == [str(OTHER_GENERATION)]
    more = _verified(OTHER_GENERATION, ANSWERED, known=known)
    assert not more.conforms
    assert [each.cause for each in more.findings if not more.is_known(each)] == [ANSWERED]
    fixed = _verified(known=known)
    assert fixed.conforms
    assert fixed.fixed == (str(OTHER_GENERATION),)
    assert fixed.findings == []


@pytest.mark.slow
def test_a_known_deviation_is_also_known_if_it_holds_sometimes_and_has_the_same_id() -> None:
    (finding,) = _verified(OTHER_GENERATION).findings
    sometimes = finding._replace(cause=Sometimes(OTHER_GENERATION))
    result = _verified(known=(KnownDeviation(OTHER_GENERATION, finding.sequence),))
    assert result.is_known(sometimes)
    assert sometimes.finding_id == finding.finding_id
    other = finding._replace(cause=DropRule("heartbeat/fenced"))
    assert not result.is_known(other)
    assert other.finding_id != finding.finding_id


def test_search_without_time_adopts_nothing() -> None:
    findings = _verified(OTHER_GENERATION).findings
    search = Search(NEW, is_over=lambda: True)
    assert not search.learn(findings, [])
    assert search.adopted == ()
    assert Search(NEW).learn(findings, [])


@pytest.mark.slow
def test_a_port_that_answers_a_request_twice_as_the_edited_rules_do_has_one_cause() -> None:
    """The rule adds the member a second time, and the group answers each of the two."""
    edit = DropGuard("join/pending-member", "the member id is pending")
    result = _verified(edit)
    assert _causes(result) == [str(edit)]


@pytest.mark.slow
def test_a_verification_has_the_same_findings_after_another_one() -> None:
    name = "failover-administration"
    given = together({name: virtual(NEW, SETTINGS)[name]})
    fault = source("KAFKA-4704")
    runs = [Verification(fault, SETTINGS._replace(walks=500), given=given).run() for _ in range(2)]
    assert _causes(runs[0]) == _causes(runs[1])
    assert _causes(runs[0]) == ["sometimes rule `failover/restored-empty` did not exist"]


DESIGNS: dict[str, Edit] = {
    "a static member that rejoins keeps its member id": SetBehaviour(
        "static-members-keep-their-ids", holds=True
    ),
    "the leader selects the protocol": SetBehaviour("any-common-protocol-is-selected", holds=True),
    "sessions never expire": SetBehaviour("sessions-never-expire", holds=True),
    "a member that expires causes no rebalance": DropEffect(EXPIRE_MEMBER.name, REBALANCE.words),
    "the join phase has no limit": DropEffect("time/rebalance-timeout", "end the join phase"),
    "a heartbeat of another generation restarts the session": AddEffect(
        "heartbeat/other-generation", RESTART_SESSION.words, "heartbeat/alive"
    ),
    "the generation begins with the join phase": SetBehaviour(
        "generation-begins-with-join-phase", holds=True
    ),
    "generations restart when a group is empty": SetBehaviour(
        "generations-restart-when-empty", holds=True
    ),
    "the join phase never ends early": SetBehaviour("join-phase-never-ends-early", holds=True),
    "rebalance timeouts are ignored": SetBehaviour("rebalance-timeouts-are-ignored", holds=True),
    "require_stable is ignored": SetBehaviour("require-stable-is-ignored", holds=True),
    "each join phase is delayed": SetBehaviour("each-join-phase-is-delayed", holds=True),
    "protocols are not compared": SetBehaviour("protocols-are-not-compared", holds=True),
    "unknown members join": SetBehaviour("unknown-members-join", holds=True),
    "group.instance.ids are ignored": SetBehaviour("instance-ids-are-ignored", holds=True),
}
QUICK = {
    "the leader selects the protocol",
    "the generation begins with the join phase",
    "rebalance timeouts are ignored",
    "require_stable is ignored",
}


@pytest.mark.parametrize("fault", slow_if(lambda fault: fault not in QUICK, DESIGNS))
def test_a_coordinator_with_another_design_has_one_exact_cause_which_is_on_the_page(
    fault: str,
) -> None:
    assert f"| {fault} | {DESIGNS[fault]} |" in PAGE.read_text(encoding="utf-8")
    name = MADE_UP[fault].instance
    given = together({name: virtual(NEW, SETTINGS)[name]})
    result = Verification(source(fault), SETTINGS._replace(walks=100), given=given).run()
    assert _causes(result) == [str(DESIGNS[fault])]


def test_time_passes_for_every_port() -> None:
    """A port whose timers all differ is not one for which time stands still."""
    stopped = {rule.id for rule in NEW.version.tables[PASS.name]}
    tried = {about(edit) for edit in Search(NEW)._edits}
    assert tried >= {"time/session-expired", "time/pending-expired"}
    assert stopped == {"time/pass"}
    assert tried.isdisjoint(stopped)
