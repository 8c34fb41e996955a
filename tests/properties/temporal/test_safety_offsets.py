"""Safety of offsets: a fault for each property of transactions, deletions and cleanups."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.instance import instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.rules import cleanup
from groupcheck.model.classic.rules.transactions import drop_pending
from groupcheck.model.classic.step import Step
from groupcheck.model.engine.edits import DropRule, Edit, FromVersion, ReplaceEffects
from groupcheck.model.engine.rules import Effect, decide
from groupcheck.model.vocabulary import ErrorCode, Request
from groupcheck.properties.temporal import safety
from groupcheck.properties.temporal.property import ActionProperty
from support.spaces import within

NEW = PROFILES["2.7"]


@partial(Effect, "answer NONE")
def _only_answer_the_marker(step: Step, request: Request) -> None:
    step.answer(request.request_id, kafka.EndTxnResponse(ErrorCode.NONE))


@partial(Effect, "answer NONE for the group")
def _only_say_that_it_is_deleted(step: Step, request: Request) -> None:
    result = kafka.DeletableGroupResult("group", ErrorCode.NONE)
    step.answer(request.request_id, kafka.DeleteGroupsResponse((result,)))


@partial(Effect, "delete every offset, and answer NONE")
def _delete_every_offset(step: Step, request: Request) -> None:
    step.group = step.existing._replace(offsets=())
    step.answer(request.request_id, kafka.OffsetDeleteResponse(ErrorCode.NONE))


@partial(Effect, "remove every offset")
def _remove_at_once(step: Step, _subject: object) -> None:
    cleanup.remove_expired(step, lambda _step, _partition, _offset: True)


@partial(Effect, "remove the group, whether or not it awaits offsets")
def _remove_group(step: Step, _subject: object) -> None:
    decide(step, cleanup.GROUP_GONE, None)


REMOVE_EXPIRED = NEW.rules["cleanup/simple"].effects


@partial(Effect, "remove offsets whose time is over, and those pending for their partitions")
def _remove_with_pending(step: Step, subject: object) -> None:
    before = dict(step.existing.offsets)
    for effect in REMOVE_EXPIRED:
        effect.apply(step, subject)
    if step.group is not None:
        step.group = drop_pending(step.group, before.keys() - dict(step.group.offsets).keys())


class Fault(NamedTuple):
    """Edits of a version that violate the property, in this many steps and members."""

    property: str
    edits: tuple[Edit, ...]
    steps: int
    instance: str
    version: str
    members: int = 1


def _replaced(
    name: str, rule: str, effects: tuple[Effect, ...], steps: int, instance: str = "transactions"
) -> list[Fault]:
    """In 2.7 and in 4.1."""
    edits = (ReplaceEffects(rule, effects),)
    return [Fault(name, edits, steps, instance, version) for version in ("2.7", "4.1")]


def _cleanup(
    name: str, steps: int, *edits: Edit, version: str = "2.7", instance: str = "expiry"
) -> Fault:
    return Fault(name, edits, steps, instance, version, members=2)


COMMITTED, ABORTED = (NEW.rules[rule].effects for rule in ("end-txn/committed", "end-txn/aborted"))
EACH_BY_ITSELF = PROFILES["0.10.0"].rules["cleanup/each-offset"].effects
FAULTS = (
    *_replaced("read-committed", "end-txn/aborted", COMMITTED, 2),
    *_replaced("newest-offset-wins", "end-txn/committed", ABORTED, 2),
    *_replaced("marker-ends-transaction", "end-txn/aborted", (_only_answer_the_marker,), 2),
    *_replaced(
        "only-empty-groups-removed",
        "delete/not-empty",
        NEW.rules["delete/empty"].effects,
        2,
        "administration",
    ),
    *_replaced(
        "deleted-as-answered", "delete/empty", (_only_say_that_it_is_deleted,), 2, "administration"
    ),
    *_replaced(
        "subscribed-offsets-not-deleted",
        "offset-delete/consumers",
        (_delete_every_offset,),
        3,
        "administration",
    ),
    _cleanup("offset-retention", 2, ReplaceEffects("cleanup/simple", (_remove_at_once,))),
    _cleanup(
        "subscribed-offsets-not-expired",
        6,
        ReplaceEffects("cleanup/consumers", EACH_BY_ITSELF),
        version="4.1",
    ),
    _cleanup(
        "no-expiry-in-rebalance", 4, FromVersion("cleanup/consumers", NEW.version), version="4.1"
    ),
    _cleanup(
        "expired-offsets-removed",
        3,
        *map(DropRule, ("cleanup/empty", "cleanup/consumers", "cleanup/simple")),
        version="4.1",
    ),
    _cleanup(
        "only-unused-groups-expire",
        2,
        ReplaceEffects("cleanup/simple", (*REMOVE_EXPIRED, _remove_group)),
        instance="expiry-transactions",
    ),
    _cleanup(
        "unused-groups-expire", 2, DropRule("cleanup/group-removed"), instance="expiry-transactions"
    ),
    _cleanup(
        "cleanup-removes-only-offsets",
        3,
        ReplaceEffects("cleanup/simple", (_remove_with_pending,)),
        instance="expiry-transactions",
    ),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.property}-{fault.version}")
def test_a_fault_violates_its_property_in_the_fewest_steps(fault: Fault) -> None:
    faulty = PROFILES[fault.version].edited(*fault.edits)
    space = within(instances(faulty, fault.members)[fault.instance], fault.steps)
    found = {each.property.name: each for each in safety.violations(space)}[fault.property]
    assert (len(found.path), found.known) == (fault.steps, None)


def test_every_property_of_offsets_has_a_fault_that_violates_it() -> None:
    properties = vars(safety.offsets).values()
    names = {each.name for each in properties if isinstance(each, ActionProperty)}
    assert {fault.property for fault in FAULTS} == names
