"""Single edits of the rules, run as ports: visible ones are found, others are proved invisible."""

from __future__ import annotations

from functools import cache
from itertools import islice

import pytest

from groupcheck.model.classic.edits import edits_of
from groupcheck.model.classic.instances.instance import feature_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.edits import (
    ChangeAnswer,
    DropEffect,
    DropGuard,
    DropRule,
    Edit,
    Exchange,
    FromVersion,
)
from groupcheck.model.vocabulary import ErrorCode, Request
from groupcheck.properties.explored import Explored, explored
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings
from groupcheck.properties.verify import Verification
from support.model_port import ModelPort
from support.product import Known, Product, UndecidedError, known

PROFILE = PROFILES["2.7"]
CROWDED = "crowded"


@cache
def _given() -> tuple[Explored, Known]:
    given = explored({CROWDED: feature_instances(PROFILE, 1)[CROWDED]})
    return given, known(given.spaces[CROWDED])


def _is_found(edit: Edit) -> bool:
    edited = PROFILE.edited(edit)
    source = PortSource("an edited model", lambda: ModelPort(0, edited))
    settings = Settings(PROFILE.name, examples=0, max_findings=1)
    return bool(Verification(source, settings, given=_given()[0]).run().findings)


def _shortest(edit: Edit) -> list[str] | None:
    steps = Product.of(_given()[1], edit).shortest()
    return (
        None
        if steps is None
        else [s.api if isinstance(s, Request) else type(s).__name__ for s in steps]
    )


@pytest.mark.parametrize(
    ("edit", "steps"),
    [
        (DropRule("join/member-id-required"), ["JoinGroup"]),
        (DropRule("time/pass"), ["JoinGroup", "Advance"]),
        (
            DropEffect("sync/stable", "answer with the member's assignment"),
            ["JoinGroup", "Advance", "SyncGroup", "SyncGroup"],
        ),
        (
            DropGuard("leave/fenced", "the group.instance.id belongs to another member"),
            ["JoinGroup", "LeaveGroup"],
        ),
        (Exchange("leave/pending-member", "leave/unknown-member"), ["JoinGroup", "LeaveGroup"]),
        (
            FromVersion("leave/member", PROFILES["4.1"].version),
            ["JoinGroup", "Advance", "LeaveGroup", "JoinGroup"],
        ),
        (
            ChangeAnswer(
                "heartbeat/other-generation", (("error_code", ErrorCode.INVALID_GROUP_ID),)
            ),
            ["JoinGroup", "JoinGroup", "Heartbeat"],
        ),
    ],
    ids=str,
)
def test_a_visible_edit_is_found_and_the_product_has_a_shortest_sequence_that_shows_it(
    edit: Edit, steps: list[str]
) -> None:
    assert _shortest(edit) == steps
    assert _is_found(edit)


@pytest.mark.parametrize(
    "edit",
    [
        DropRule("heartbeat/not-coordinator"),  # this instance unloads no partition
        FromVersion("sync/stable", PROFILES["0.10.0"].version),
        Exchange("commit/unknown-member", "commit/other-generation"),
    ],
    ids=str,
)
def test_an_edit_that_no_sequence_shows_is_proved_invisible_and_not_found(edit: Edit) -> None:
    assert _shortest(edit) is None
    assert not _is_found(edit)


@pytest.mark.slow
def test_the_product_and_a_verification_agree_on_every_fifteenth_edit() -> None:
    edits = list(islice(edits_of(PROFILE), 0, None, 15))
    visible = [str(edit) for edit in edits if _shortest(edit) is not None]
    assert visible == [str(edit) for edit in edits if _is_found(edit)]
    assert 10 < len(visible) < len(edits) - 10


def test_a_product_that_grows_too_large_is_undecided() -> None:
    edit = FromVersion("leave/member", PROFILES["4.1"].version)
    with pytest.raises(UndecidedError):
        Product.of(_given()[1], edit, most_pairs=0).shortest()
