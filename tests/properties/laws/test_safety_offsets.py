"""The laws of transactions and deletions: each is broken by a model with a fault of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from groupcheck.model.engine.exploration import explore
from groupcheck.model.instances.instance import spaces
from groupcheck.model.profiles import PROFILES
from groupcheck.model.step import Profile, Step
from groupcheck.model.vocabulary import (
    DeletableGroupResult,
    DeleteGroupsResponse,
    EndTxnResponse,
    ErrorCode,
    OffsetDeleteResponse,
    Request,
)
from groupcheck.properties.laws import safety
from groupcheck.properties.laws.safety import offsets as safety_offsets

NEW = PROFILES["2.7"]

Then = Callable[[Step, Request], None]


def _of(rule: str) -> Then:
    """What another rule does."""
    return NEW.rules[rule].then


def _only_answer_the_marker(step: Step, request: Request) -> None:
    step.answer(request.request_id, EndTxnResponse(ErrorCode.NONE))


def _only_say_that_it_is_deleted(step: Step, request: Request) -> None:
    result = DeletableGroupResult("group", ErrorCode.NONE)
    step.answer(request.request_id, DeleteGroupsResponse((result,)))


def _delete_every_offset(step: Step, request: Request) -> None:
    step.group = step.existing._replace(offsets=())
    step.answer(request.request_id, OffsetDeleteResponse(ErrorCode.NONE))


class Fault(NamedTuple):
    """A rule with another consequence, and in how many steps that breaks the law."""

    law: str
    table: str
    rule: str
    then: Then
    steps: int
    space: str = "transactions"

    def put_into(self, profile: Profile) -> Profile:
        """The profile with the fault."""
        rules = tuple(
            rule._replace(then=self.then) if rule.name == self.rule else rule
            for rule in getattr(profile, self.table)
        )
        changes: dict[str, Any] = {self.table: rules}
        return profile._replace(**changes)


FAULTS = (
    Fault("read-when-committed", "end_txn", "end-txn/aborted", _of("end-txn/committed"), 2),
    Fault("newest-offset-stands", "end_txn", "end-txn/committed", _of("end-txn/aborted"), 2),
    Fault("marker-ends-all", "end_txn", "end-txn/aborted", _only_answer_the_marker, 2),
    Fault(
        "only-empty-groups-go",
        "delete_groups",
        "delete/not-empty",
        _of("delete/empty"),
        2,
        "administration",
    ),
    Fault(
        "deleted-as-answered",
        "delete_groups",
        "delete/empty",
        _only_say_that_it_is_deleted,
        2,
        "administration",
    ),
    Fault(
        "subscribed-offsets-stay",
        "offset_delete",
        "offset-delete/consumers",
        _delete_every_offset,
        3,
        "administration",
    ),
)


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.law)
def test_a_fault_breaks_its_law_in_as_few_steps_as_can_be(fault: Fault, profile: str) -> None:
    space = explore(spaces(fault.put_into(PROFILES[profile]), 1)[fault.space])
    found = {each.law.name: each for each in safety.broken(space)}
    assert len(found[fault.law].hops) == fault.steps


def test_every_law_has_a_fault_that_breaks_it() -> None:
    assert {fault.law for fault in FAULTS} == {law.name for law in safety_offsets.OF_STEPS}
