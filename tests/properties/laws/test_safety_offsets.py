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
from groupcheck.properties.laws import safety
from groupcheck.properties.laws.safety import offsets as safety_offsets

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

    law: str
    rule: str
    effects: tuple[Effect, ...]
    steps: int
    space: str = "transactions"


COMMITTED, ABORTED = (NEW.rules[rule].effects for rule in ("end-txn/committed", "end-txn/aborted"))
FAULTS = (
    Fault("read-when-committed", "end-txn/aborted", COMMITTED, 2),
    Fault("newest-offset-stands", "end-txn/committed", ABORTED, 2),
    Fault("marker-ends-all", "end-txn/aborted", (_only_answer_the_marker,), 2),
    Fault(
        "only-empty-groups-go",
        "delete/not-empty",
        NEW.rules["delete/empty"].effects,
        2,
        "administration",
    ),
    Fault(
        "deleted-as-answered", "delete/empty", (_only_say_that_it_is_deleted,), 2, "administration"
    ),
    Fault(
        "subscribed-offsets-stay",
        "offset-delete/consumers",
        (_delete_every_offset,),
        3,
        "administration",
    ),
)


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.law)
def test_a_fault_violates_its_property_in_the_fewest_steps(fault: Fault, profile: str) -> None:
    faulty = PROFILES[profile].edited(ReplaceEffects(fault.rule, fault.effects))
    space = explore(instances(faulty, 1)[fault.space])
    found = {each.law.name: each for each in safety.broken(space)}
    assert len(found[fault.law].hops) == fault.steps


def test_every_property_has_a_fault_that_violates_it() -> None:
    assert {fault.law for fault in FAULTS} == {law.name for law in safety_offsets.OF_STEPS}
