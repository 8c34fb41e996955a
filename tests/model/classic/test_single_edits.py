"""Every single edit of the rules, what edited rules do, and edits as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.config import Config
from groupcheck.model.classic.edits import MalformedEditError, as_json, edits_of, from_json
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Coordinator, Log
from groupcheck.model.classic.step import Outcome, Profile
from groupcheck.model.classic.transition import appending, successors
from groupcheck.model.engine.edits import (
    ANY,
    AddEffect,
    ChangeAnswer,
    DropEffect,
    DropGuard,
    DropRule,
    Edit,
    Exchange,
    FirstNumber,
    FromVersion,
    Instead,
    InsteadOf,
    OnlyAnswer,
    RequireGuard,
    SetBehaviour,
    Sometimes,
)
from groupcheck.model.vocabulary import ErrorCode, Request, RequestBody
from support.requests import heartbeat, join

NEW, NEWEST = PROFILES["2.7"], PROFILES["4.1"]
NO_GROUP = Coordinator(log=Log())
COMMIT = kafka.OffsetCommitRequest(
    "group",
    7,
    "member",
    topics=(kafka.OffsetCommitRequestTopic("topic", (kafka.OffsetCommitRequestPartition(0, 1),)),),
)

both = pytest.mark.parametrize("profile", [NEW, NEWEST], ids=lambda profile: profile.name)


def _outcomes(profile: Profile, body: RequestBody) -> list[Outcome]:
    version = profile.max_versions[type(body).__name__.removesuffix("Request")]
    return successors(NO_GROUP, Request(1, version, body), profile, Config())


def _answer(profile: Profile, body: RequestBody) -> Any:
    (outcome,) = _outcomes(profile, body)
    (response,) = outcome.responses
    return response.body


@both
def test_a_version_has_hundreds_of_single_edits_and_none_twice(profile: Profile) -> None:
    edits = list(edits_of(profile))
    assert len(edits) == {"2.7": 931, "4.1": 1024}[profile.name]
    assert len(set(map(str, edits))) == len(edits)
    assert edits == list(edits_of(profile))


@both
def test_every_kind_of_single_edit_is_made_for_every_rule(profile: Profile) -> None:
    edits = list(edits_of(profile))
    rules = profile.rules.values()
    assert [DropRule(rule.id) for rule in rules] == edits[: len(rules)]
    dropped = [edit for edit in edits if isinstance(edit, DropGuard)]
    assert dropped == [DropGuard(rule.id, guard.words) for rule in rules for guard in rule.guards]
    kinds = {DropRule, DropGuard, DropEffect, Exchange, FromVersion, ChangeAnswer, SetBehaviour}
    assert {type(edit) for edit in edits} == kinds


@both
def test_every_single_edit_changes_the_version(profile: Profile) -> None:
    for edit in edits_of(profile):
        assert edit(profile.version) != profile.version


@both
def test_a_step_follows_a_sometimes_edit_or_not(profile: Profile) -> None:
    dropped = [e for e in edits_of(profile) if isinstance(e, DropRule | DropGuard | DropEffect)]
    bodies = (COMMIT, heartbeat(), join())
    for edit in dropped[::5]:
        sometimes = profile.edited(Sometimes(edit))
        for body in bodies:
            either = {*_outcomes(profile, body), *_outcomes(profile.edited(edit), body)}
            assert set(_outcomes(sometimes, body)) == either, edit
        data = json.loads(json.dumps(as_json(Sometimes(edit))))
        assert from_json(data, profile.version) == Sometimes(edit)


def test_a_field_of_the_records_in_a_field_is_changed() -> None:
    plain = _answer(NEW, COMMIT)
    edit = ChangeAnswer(
        "commit/no-group", (("topics.partitions.error_code", ErrorCode.NOT_COORDINATOR),)
    )
    changed = _answer(NEW.edited(edit), COMMIT)
    assert changed != plain
    assert {p.error_code for t in changed.topics for p in t.partitions} == {
        ErrorCode.NOT_COORDINATOR
    }


def test_a_rule_answers_the_other_errors_of_its_table_in_their_order() -> None:
    changed = [
        edit.fields
        for edit in edits_of(NEW)
        if isinstance(edit, ChangeAnswer) and edit.rule == "heartbeat/other-generation"
    ]
    assert changed == [
        (("error_code", ErrorCode.REBALANCE_IN_PROGRESS),),
        (("error_code", ErrorCode.INVALID_GROUP_ID),),
    ]


def test_a_changed_answer_has_the_new_fields_and_the_state_stays_the_same() -> None:
    (plain,) = _outcomes(NEW, join())
    edit = ChangeAnswer("join/member-id-required", (("leader", "x"), ("none_such", 1)))
    assert plain.reasons == (edit.rule,)
    (changed,) = _outcomes(NEW.edited(edit), join())
    (response,) = plain.responses
    body: Any = response.body
    expected = response._replace(body=body._replace(leader="x"))
    assert changed == plain._replace(responses=(expected,))


def test_a_value_instead_of_another_one_changes_only_the_answers_that_have_that() -> None:
    for own, code in ((ErrorCode.GROUP_ID_NOT_FOUND, 0), (ErrorCode.NONE, 69)):
        change = InsteadOf(ErrorCode.NONE, own)
        edit = ChangeAnswer("commit/not-found", (("topics.partitions.error_code", change),))
        answer = _answer(NEWEST.edited(edit), COMMIT._replace(generation_id=1))
        assert {p.error_code for t in answer.topics for p in t.partitions} == {code}


def test_a_field_that_the_answer_does_not_have_is_changed_in_each_record_in_it() -> None:
    fields = (("error_code", ErrorCode.FENCED_INSTANCE_ID),)
    for rule, body in (
        ("commit/no-group", COMMIT),
        ("describe/no-group", kafka.DescribeGroupsRequest(("group", "other"))),
    ):
        found = _answer(NEW.edited(ChangeAnswer(rule, fields)), body)
        records = (
            [p for t in found.topics for p in t.partitions] if body is COMMIT else found.groups
        )
        assert {each.error_code for each in records} == {ErrorCode.FENCED_INSTANCE_ID}
        assert found != _answer(NEW, body)


def test_of_two_changes_of_one_answer_the_later_one_counts() -> None:
    codes = (ErrorCode.NONE, ErrorCode.NOT_COORDINATOR)
    changes = (ChangeAnswer("heartbeat/no-group", (("error_code", code),)) for code in codes)
    answer = _answer(NEW.edited(*changes), kafka.HeartbeatRequest("group", 1, "member"))
    assert answer.error_code is ErrorCode.NOT_COORDINATOR


def test_a_step_of_edited_rules_that_raises_has_no_outcome() -> None:
    edit = DropRule("heartbeat/no-group")
    request = Request(1, 4, heartbeat())
    assert successors(NO_GROUP, request, NEW.edited(edit), Config()) == []
    assert list(appending(NO_GROUP, request, NEW.edited(edit), Config())) == []
    with pytest.raises(LookupError, match="a rule asked for the group"):
        successors(NO_GROUP, request, NEW.of(edit(NEW.version)), Config())


@both
def test_every_single_edit_is_the_same_again_from_its_json(profile: Profile) -> None:
    for edit in edits_of(profile):
        data = json.loads(json.dumps(as_json(edit)))
        assert from_json(data, profile.version) == edit


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("error_code", ErrorCode.ILLEGAL_GENERATION),
        ("error_code", ErrorCode(99)),
        ("generation_id", 0),
        ("protocol_name", None),
        ("protocol_name", "NONE"),
        ("assignment", b"\x00part"),
        ("skip_assignment", True),
        ("members", (kafka.JoinGroupResponseMember("#1", None, b"metadata"),)),
        ("members", (kafka.MemberResponse("#1", "instance", ErrorCode.NONE),)),
        ("members", ()),
        ("members", ANY),
        ("protocol_name", InsteadOf("range", None)),
        ("error_code", InsteadOf(ErrorCode.NONE, ErrorCode.ILLEGAL_GENERATION)),
    ],
)
def test_a_value_of_an_answer_is_the_same_again_from_its_json(name: str, value: object) -> None:
    edit = ChangeAnswer("heartbeat/alive", ((name, value),))
    again = from_json(json.loads(json.dumps(as_json(edit))), NEW.version)
    assert isinstance(again, ChangeAnswer)
    assert repr(again) == repr(edit)


@pytest.mark.parametrize(
    ("edit", "data"),
    [
        (DropRule("heartbeat/alive"), {"edit": "drop-rule", "rule": "heartbeat/alive"}),
        (
            FromVersion("heartbeat/alive", NEWEST.version),
            {"edit": "from-version", "rule": "heartbeat/alive", "other": "4.1"},
        ),
        (
            AddEffect("heartbeat/fenced", "answer NONE", "heartbeat/alive"),
            {
                "edit": "add-effect",
                "rule": "heartbeat/fenced",
                "effect": "answer NONE",
                "like": "heartbeat/alive",
            },
        ),
        (
            Instead("heartbeat/alive", "heartbeat/preparing"),
            {"edit": "instead", "rule": "heartbeat/alive", "does": "heartbeat/preparing"},
        ),
        (
            OnlyAnswer(
                "join/new-member",
                "the group is Stable",
                "join/loading",
                (("generation_id", InsteadOf(0, -1)),),
            ),
            {
                "edit": "only-answer",
                "rule": "join/new-member",
                "when": "the group is Stable",
                "like": "join/loading",
                "fields": {"generation_id": {"value": 0, "instead of": -1}},
            },
        ),
        (
            RequireGuard("join/group-full", "the member id is pending", holds=False),
            {
                "edit": "require-guard",
                "rule": "join/group-full",
                "guard": "the member id is pending",
                "holds": False,
            },
        ),
        (FirstNumber("generation", 2), {"edit": "first-number", "of": "generation", "number": 2}),
        (
            ChangeAnswer("heartbeat/alive", (("error_code", ErrorCode.NOT_COORDINATOR),)),
            {
                "edit": "change-answer",
                "rule": "heartbeat/alive",
                "fields": {"error_code": "NOT_COORDINATOR"},
            },
        ),
        (
            ChangeAnswer("join/no-group", (("error_code", ErrorCode.NONE),), ends=True),
            {
                "edit": "change-answer",
                "rule": "join/no-group",
                "fields": {"error_code": "NONE"},
                "ends": True,
            },
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_json_of_an_edit_has_its_parts_by_name_and_is_read_again(
    edit: Edit, data: object
) -> None:
    assert as_json(edit) == data
    assert from_json(data, NEW.version) == edit


_WAITS = {"edit": "set-behaviour", "behaviour": "answers-are-deferred", "holds": True}
_KINDS = (
    "drop-rule, drop-guard, require-guard, drop-effect, add-effect, exchange, from-version, "
    "instead, only-answer, change-answer, set-behaviour, sometimes, first-number"
)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, f"expected an edit ({_KINDS}), got None"),
        ({"edit": ["drop-rule"]}, f"expected an edit ({_KINDS}), got {{'edit': ['drop-rule']}}"),
        ({"edit": "alone"}, f"expected an edit ({_KINDS}), got {{'edit': 'alone'}}"),
        ({"edit": "drop-rule"}, "drop-rule: expected the fields rule, got {'edit': 'drop-rule'}"),
        ({"edit": "drop-rule", "rule": 1}, "rule: expected a string, got 1"),
        ({"edit": "drop-rule", "rule": "no/rule"}, "2.7 has no rule no/rule"),
        (
            {"edit": "drop-guard", "rule": "heartbeat/fenced", "guard": "x"},
            "there is no 'x'; there are: the group.instance.id belongs to another member",
        ),
        (
            {"edit": "drop-effect", "rule": "heartbeat/fenced", "effect": "x"},
            "there is no 'x'; there are: answer FENCED_INSTANCE_ID",
        ),
        (
            {"edit": "exchange", "first": "heartbeat/alive", "second": "heartbeat/fenced"},
            "2.7 does not try heartbeat/fenced after heartbeat/alive",
        ),
        (
            {"edit": "from-version", "rule": "heartbeat/alive", "other": "9"},
            "other: expected one of 0.10.0, 0.10.2, 2.7, 4.1, got '9'",
        ),
        (
            {
                "edit": "only-answer",
                "rule": "join/new-member",
                "when": "it rains",
                "like": "join/loading",
                "fields": {"generation_id": 0},
            },
            "2.7 has no guard 'it rains'",
        ),
        (
            {"edit": "sometimes", "of": _WAITS},
            (
                "sometimes: expected an edit that drops something, got {'edit': "
                "'set-behaviour', 'behaviour': 'answers-are-deferred', 'holds': True}"
            ),
        ),
        ({**_WAITS, "holds": 1}, "holds: expected true or false, got 1"),
        ({**_WAITS, "behaviour": "x"}, "there is no behaviour 'x'"),
        ({"edit": "first-number", "of": "epoch", "number": 2}, "2.7 numbers no 'epoch'"),
        (
            {"edit": "first-number", "of": "generation", "number": "2"},
            "number: expected an integer, got '2'",
        ),
        (
            {"edit": "change-answer", "rule": "heartbeat/alive", "fields": {}},
            "fields: expected fields of an answer and their values, got {}",
        ),
        (
            {"edit": "change-answer", "rule": "heartbeat/alive", "fields": {"x": 1}},
            "fields: no answer has a field 'x'",
        ),
        (
            {"edit": "change-answer", "rule": "heartbeat/alive", "fields": {"error_code": "X"}},
            "fields.error_code: expected an integer, got 'X'",
        ),
        (
            {"edit": "change-answer", "rule": "heartbeat/alive", "fields": {"members": [{"x": 1}]}},
            "fields.members[0]: expected a field 'memberId', got {'x': 1}",
        ),
        (
            {
                "edit": "change-answer",
                "rule": "heartbeat/alive",
                "fields": {"leader": "a"},
                "ends": 1,
            },
            "ends: expected true or false, got 1",
        ),
    ],
)
def test_json_that_is_no_edit_of_the_version_is_one_clear_line(data: object, message: str) -> None:
    with pytest.raises(MalformedEditError) as raised:
        from_json(data, NEW.version)
    assert str(raised.value) == message
