"""Guards and checks that several APIs have, and the subject of a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Final, NamedTuple, TypeVar

from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Group, Member, Serving
from groupcheck.model.classic.step import Step
from groupcheck.model.engine.rules import EVERY_VERSION, Effect, Guard, Rule, Sources, rule
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ErrorCode,
    GroupState,
    Request,
    RequestBody,
    ResponseBody,
)

B = TypeVar("B", bound=RequestBody)

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


def body_of(_cls: type[B]) -> Callable[[Request], B]:
    """Returns the body of a request if it is of that class."""
    return attrgetter("body")


def instance_of(request: Request) -> str | None:
    """The group.instance.id that a request names, None if it names none."""
    found: str | None = getattr(request.body, "group_instance_id", None)
    return found


def member_of(step: Step, request: Request) -> Member:
    """The member that a request names.

    Raises:
        LookupError: it is not in the group; a rule lacks the check for it.
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


def group_id_of(request: Request) -> str:
    """The group id that a request names; the model has no request that names several."""
    body = request.body
    if isinstance(body, DescribeGroupsRequest):
        return body.groups[0]
    if isinstance(body, DeleteGroupsRequest):
        return body.groups_names[0]
    named: str = getattr(body, "group_id")  # noqa: B009 - of several bodies
    return named


def is_of_another(step: Step, request: Request) -> bool:
    """Whether the request names the empty group id, and this group has another id.

    The group with the empty id is in another partition, and has no members or offsets.
    """
    return not group_id_of(request) and not (step.group or Group()).has_empty_id


def is_missing(step: Step, request: Request) -> bool:
    """Whether the group does not exist; only commits create one with the empty id."""
    group = step.group
    if group is None or group.state is GroupState.DEAD:
        return True
    if isinstance(request.body, DescribeGroupsRequest | DeleteGroupsRequest):
        return is_of_another(step, request)
    return getattr(request.body, "group_id", None) == ""


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
    "the group id is empty", lambda _step, request: not request.body.group_id
)
# To select rules by state, a group that does not exist is in the state "none".
NO_GROUP: Final = Guard("the group does not exist", is_missing, states=frozenset({"none", "Dead"}))
FENCED: Final = Guard("the group.instance.id belongs to another member", is_fenced)
UNKNOWN_INSTANCE: Final = Guard("the group.instance.id belongs to no member", _is_unknown_instance)
UNKNOWN_MEMBER: Final = Guard(
    "the member id is not in the group",
    lambda step, request: step.existing.member(member_id_of(request)) is None,
)
OTHER_GENERATION: Final = Guard(
    "the request's generation is not the group's current generation", _is_other_generation
)
IS_LEADER: Final = Guard(
    "the member is the leader", lambda step, request: step.existing.leader == member_id_of(request)
)
NEXT_APPEND_FAILS: Final = Guard(
    "the next append fails", lambda step, _subject: step.failing is not None
)

INACTIVE: Final = Guard("the coordinator is shut down", lambda step, _subject: not step.active)
LOADING: Final = Guard(
    "the group's partition is loading", lambda step, _subject: step.serving is Serving.LOADING
)
NOT_SERVED: Final = Guard(
    "this broker is not the group's coordinator",
    lambda step, _subject: step.serving is not Serving.SERVED,
)

# From 4.1 on, an answer waits until everything written before it is committed.
DEFERRED: Final = at("", "", "", "CR:960")

# The checks that several APIs make, and the error that most of them answer. In 0.10 a partition is
# owned only once it has been loaded: no request meets one that is loading.
CHECKS: Final[Mapping[str, tuple[Guard, ErrorCode]]] = {
    "invalid-group-id": (NO_GROUP_ID, ErrorCode.INVALID_GROUP_ID),
    "not-active": (INACTIVE, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    "loading": (LOADING, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    "not-coordinator": (NOT_SERVED, ErrorCode.NOT_COORDINATOR),
    "no-group": (NO_GROUP, ErrorCode.UNKNOWN_MEMBER_ID),
    "unknown-instance": (UNKNOWN_INSTANCE, ErrorCode.UNKNOWN_MEMBER_ID),
    "fenced": (FENCED, ErrorCode.FENCED_INSTANCE_ID),
    "unknown-member": (UNKNOWN_MEMBER, ErrorCode.UNKNOWN_MEMBER_ID),
    "other-generation": (OTHER_GENERATION, ErrorCode.ILLEGAL_GENERATION),
}
# The words of checks whose guards have other words.
WORDS: Final[Mapping[str, str]] = {
    "fenced": "another member has joined with the same group.instance.id",
}

Reply = Callable[[ErrorCode], Effect]  # the effect that answers an error


def replies(answer: Callable[[Step, Request, ErrorCode], None], words: str = "") -> Reply:
    """The replies of an API that answers an error so; `words` say what else it does."""

    def reply(error: ErrorCode) -> Effect:
        return Effect(
            f"answer {error.name}{words}", lambda step, request: answer(step, request, error)
        )

    return reply


def reply_with(response: Callable[[ErrorCode], ResponseBody]) -> Reply:
    """The replies of an API whose response is an error, if there is one."""
    return replies(lambda step, request, error: step.answer(request.request_id, response(error)))


class Checks(NamedTuple):
    """Makes the rules of an API that are checks which several APIs make."""

    reply: Reply

    def __call__(
        self, id_: str, sources: Sources, *effects: Effect, deferred: Sources = EVERY_VERSION
    ) -> Rule:
        """The rule `API/CHECK`; it answers the error of the check, or has these effects."""
        name = id_.partition("/")[2]
        guard, error = CHECKS[name]
        words = WORDS.get(name, guard.words)
        return rule(
            id_, words, sources, guard, *(effects or (self.reply(error),)), deferred=deferred
        )


def static_member_of(group: Group, request: Request) -> Member | None:
    """The member that the request's group.instance.id belongs to."""
    return group.member(group.static(instance_of(request)) or "")
