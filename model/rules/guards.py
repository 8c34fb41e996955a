"""Guards that several APIs have, the preconditions of all of them, and the subject of a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupcheck.model.engine.rules import Effect, Guard, Rule, Sources
from groupcheck.model.state import Group, Member, Serving
from groupcheck.model.step import Step
from groupcheck.model.vocabulary import ErrorCode, GroupState, Request

PREPARING: Final = GroupState.PREPARING_REBALANCE
COMPLETING: Final = GroupState.COMPLETING_REBALANCE
STABLE: Final = GroupState.STABLE
EMPTY: Final = GroupState.EMPTY


def state_is(*states: GroupState) -> Guard:
    """The group is in one of the states."""
    names = [state.value for state in states]
    return Guard(
        f"the group is {' or '.join(names)}",
        lambda step, _subject: step.existing.state in states,
        states=frozenset(names),
    )


def state_is_not(*states: GroupState) -> Guard:
    """The group is in another state."""
    others = [state for state in GroupState if state not in states]
    return Guard(
        f"the group is not {' or '.join(state.value for state in states)}",
        lambda step, _subject: step.existing.state not in states,
        states=frozenset(state.value for state in others),
    )


def instance_of(request: Request) -> str | None:
    """The group.instance.id that a request names, None if it names none."""
    found: str | None = getattr(request.body, "group_instance_id", None)
    return found


def member_of(step: Step, request: Request) -> Member:
    """The member that a request names.

    Raises:
        LookupError: it is not in the group; a rule has not made sure of that.
    """
    found = step.existing.member(member_id_of(request))
    if found is None:
        msg = "a rule asked for a member before making sure that it is in the group"
        raise LookupError(msg)
    return found


def member_id_of(request: Request) -> str:
    """The member id that a request names."""
    named: str = getattr(request.body, "member_id", "")
    return named


def is_missing(step: Step, request: Request) -> bool:
    """Whether the group does not exist; a group with the empty id never does."""
    group = step.group
    gone = group is None or group.state is GroupState.DEAD
    return gone or getattr(request.body, "group_id", None) == ""


def is_fenced(step: Step, request: Request) -> bool:
    """Whether the request's group.instance.id belongs to another member (GroupMetadata:399)."""
    member_id = step.existing.static(instance_of(request))
    return member_id is not None and member_id != member_id_of(request)


def _is_unknown_instance(step: Step, request: Request) -> bool:
    instance_id = instance_of(request)
    return instance_id is not None and step.existing.static(instance_id) is None


def _is_other_generation(step: Step, request: Request) -> bool:
    named: int = getattr(request.body, "generation_id")  # noqa: B009 - of several bodies
    return named != step.existing.generation_id


NO_GROUP_ID: Final = Guard(
    "the group id is empty",
    lambda _step, request: not request.body.group_id,
)
NO_GROUP: Final = Guard("the group does not exist", is_missing, states=frozenset({"Dead"}))
FENCED: Final = Guard("the group.instance.id belongs to another member", is_fenced)
UNKNOWN_INSTANCE: Final = Guard("the group.instance.id belongs to no member", _is_unknown_instance)
UNKNOWN_MEMBER: Final = Guard(
    "the member id is not in the group",
    lambda step, request: step.existing.member(member_id_of(request)) is None,
)
OTHER_GENERATION: Final = Guard("the generation is not the group's", _is_other_generation)
IS_LEADER: Final = Guard(
    "the member is the leader",
    lambda step, request: step.existing.leader == member_id_of(request),
)
NEXT_APPEND_FAILS: Final = Guard(
    "the next append fails", lambda step, _subject: step.failing is not None
)

INACTIVE: Final = Guard("the coordinator is shut down", lambda step, _subject: not step.active)
LOADING: Final = Guard(
    "the group's partition is loading", lambda step, _subject: step.serving is Serving.LOADING
)
NOT_SERVED: Final = Guard(
    "this is not the group's coordinator",
    lambda step, _subject: step.serving is not Serving.SERVED,
)

Answers = Callable[[ErrorCode], tuple[Effect, ...]]

# In 0.10 a partition is owned only once it has been loaded: no request meets one that is loading.
RUNTIME_LOADING: Final = "CR:2207"
RUNTIME_ELSEWHERE: Final = "CR:2209"


def preconditions(  # noqa: PLR0913, PLR0917 - one record of data
    api: str,
    answers: Answers,
    not_active: Sources,
    loading: Sources,
    not_coordinator: Sources,
    loading_effects: tuple[Effect, ...] | None = None,
) -> tuple[Rule, Rule, Rule]:
    """The checks of each API before the group is looked at, each with its sources."""
    return (
        Rule(
            f"{api}/not-active",
            "the coordinator is shut down",
            not_active,
            (INACTIVE,),
            answers(ErrorCode.COORDINATOR_NOT_AVAILABLE),
        ),
        Rule(
            f"{api}/loading",
            "the group is being loaded",
            loading,
            (LOADING,),
            loading_effects or answers(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        ),
        Rule(
            f"{api}/not-coordinator",
            "this is not the group's coordinator",
            not_coordinator,
            (NOT_SERVED,),
            answers(ErrorCode.NOT_COORDINATOR),
        ),
    )


def static_member_of(group: Group, request: Request) -> Member | None:
    """The member that the request's group.instance.id belongs to."""
    return group.member(group.static(instance_of(request)) or "")
