"""Safety of transactions and deletions: a fault made for each property violates it."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import pytest

from groupcheck.model.engine.edits import ReplaceEffects
from groupcheck.model.engine.exploration import explore
from groupcheck.model.engine.rules import Effect
from groupcheck.model.instances.instance import instances
from groupcheck.model.profiles import PROFILES
from groupcheck.model.step import Step
from groupcheck.model.vocabulary import (
    DeletableGroupResult,
    DeleteGroupsResponse,
    EndTxnResponse,
    ErrorCode,
    OffsetDeleteResponse,
    Request,
)
from groupcheck.properties.temporal import safety
from groupcheck.properties.temporal.safety import offsets as safety_offsets

NEW = PROFILES["2.7"]


@partial(Effect, "answer NONE")
def _only_answer_the_marker(step: Step, request: Request) -> None:
    step.answer(request.request_id, EndTxnResponse(ErrorCode.NONE))


@partial(Effect, "answer NONE for the group")
def _only_say_that_it_is_deleted(step: Step, request: Request) -> None:
    result = DeletableGroupResult("group", ErrorCode.NONE)
    step.answer(request.request_id, DeleteGroupsResponse((result,)))


@partial(Effect, "delete every offset, and answer NONE")
def _delete_every_offset(step: Step, request: Request) -> None:
    step.group = step.existing._replace(offsets=())
    step.answer(request.request_id, OffsetDeleteResponse(ErrorCode.NONE))


class Fault(NamedTuple):
    """A rule with other effects, and in how many steps that violates the property."""

    property: str
    rule: str
    effects: tuple[Effect, ...]
    steps: int
    space: str = "transactions"


COMMITTED, ABORTED = (NEW.rules[rule].effects for rule in ("end-txn/committed", "end-txn/aborted"))
FAULTS = (
    Fault("read-committed", "end-txn/aborted", COMMITTED, 2),
    Fault("newest-offset-wins", "end-txn/committed", ABORTED, 2),
    Fault("marker-ends-transaction", "end-txn/aborted", (_only_answer_the_marker,), 2),
    Fault(
        "only-empty-groups-removed",
        "delete/not-empty",
        NEW.rules["delete/empty"].effects,
        2,
        "administration",
    ),
    Fault(
        "deleted-as-answered", "delete/empty", (_only_say_that_it_is_deleted,), 2, "administration"
    ),
    Fault(
        "subscribed-offsets-not-deleted",
        "offset-delete/consumers",
        (_delete_every_offset,),
        3,
        "administration",
    ),
)


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.property)
def test_a_fault_violates_its_property_in_the_fewest_steps(fault: Fault, profile: str) -> None:
    faulty = PROFILES[profile].edited(ReplaceEffects(fault.rule, fault.effects))
    space = explore(instances(faulty, 1)[fault.space])
    found = {each.property.name: each for each in safety.violations(space)}
    assert len(found[fault.property].path) == fault.steps


def test_every_property_has_a_fault_that_violates_it() -> None:
    assert {fault.property for fault in FAULTS} == {
        prop.name for prop in safety_offsets.ACTION_PROPERTIES
    }
