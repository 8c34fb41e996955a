"""How what a consumer did differs from what the specification says, without the numbers in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from groupcheck.model.client import CALLBACKS, NONE, REQUESTS, ClientEvent, ClientInput
from groupcheck.model.engine.specification import Specification
from groupcheck.model.member.state import Member

Events = tuple[ClientEvent, ...]

FIND: Final = "FindCoordinator"
COMMIT: Final = "OffsetCommit"
_FIELDS: Final = {
    "member_id": "another member id",
    "generation": "another generation",
    "leader": "other assignments",
    "partitions": "other partitions",
    "error": "another error",
}


class Difference(NamedTuple):
    """A difference: it is the same one if its words are.

    Args:
        words: what differs, without member ids, generations and partitions.
        expected: the events that the specification has.
        seen: the events that came.
    """

    words: str
    expected: Events
    seen: Events


def difference(expected: Events, seen: Events) -> Difference | None:
    """How two sequences of events differ; None if they are equal."""
    if expected == seen:
        return None
    missing = list((Counter(expected) - Counter(seen)).elements())
    extra = list((Counter(seen) - Counter(expected)).elements())
    words = [*_pairs(missing, extra)]
    words += [f"no {_word(event)}" for event in missing]
    words += [_word(event) for event in extra]
    return Difference("; ".join(dict.fromkeys(words)) or "another order", expected, seen)


def _pairs(missing: list[ClientEvent], extra: list[ClientEvent]) -> Iterator[str]:
    """Take out the events that differ in fields alone, and say in which."""
    for event in list(missing):
        other = next((each for each in extra if each.name == event.name), None)
        if other is not None:
            missing.remove(event)
            extra.remove(other)
            fields = [
                words
                for name, words in _FIELDS.items()
                if getattr(event, name) != getattr(other, name)
            ]
            yield f"{event.name} with {' and '.join(fields)}"


def _word(event: ClientEvent) -> str:
    return f"{event.name}: {event.error}" if event.error else event.name


def followed(instance: Specification, target: Member, found: Difference) -> Member | None:
    """The state of a consumer that differs, as far as its requests tell; None if they do not.

    Args:
        instance: the specification.
        target: the state in which a consumer of Kafka's would be.
        found: how the consumer differs.
    """
    expected, seen = _requests(found.expected), _requests(found.seen)
    last = expected[-1].name if expected else ""
    is_left_out = last == FIND or (last == COMMIT and target.sent[-1].automatic)
    if is_left_out and (not seen or seen[-1].name != last):
        return _without(last, instance, target, found)
    if [event.name for event in expected] == [event.name for event in seen]:
        return _as_sent(target, expected, seen)
    if [event for event in expected if event.name != "Heartbeat"] == seen:
        sent = tuple(request for request in target.sent if request.api != "Heartbeat")
        return target._replace(sent=sent)
    return None


def _requests(events: Sequence[ClientEvent]) -> list[ClientEvent]:
    """The requests that await an answer, or another lookup."""
    return [event for event in events if event.name in REQUESTS and event.name != "LeaveGroup"]


def _without(api: str, instance: Specification, target: Member, found: Difference) -> Member | None:
    """The state of a consumer that has sent no such request: as if it had been answered.

    It has kept its coordinator, or does not commit by itself.
    """
    answered = ClientInput(api, NONE)
    if answered not in instance.inputs(target):
        return None
    (outcome,) = instance.successors(target, answered)
    state: Member = outcome[0]
    others = [event for event in found.expected if event.name != api]
    kept = difference((*others, *outcome[1][0]), found.seen)
    return state if kept is None else followed(instance, state, kept)


def _as_sent(
    target: Member, expected: Sequence[ClientEvent], seen: Sequence[ClientEvent]
) -> Member:
    """The state with the member id of a JoinGroup that has another one."""
    if not expected or expected == seen or expected[-1].name != "JoinGroup":
        return target
    member_id = seen[-1].member_id
    *earlier, last = target.sent
    sent = (*earlier, last._replace(member_id=member_id))
    return target._replace(member_id=member_id, sent=sent)


def rank(words: str) -> tuple[int, str]:
    """The order of a report: requests first, then calls of the listener, then errors."""
    kinds = (REQUESTS, CALLBACKS)
    for number, names in enumerate(kinds):
        if any(name in words for name in names):
            return number, words
    return len(kinds), words
