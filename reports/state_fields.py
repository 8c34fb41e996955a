"""States and answers field by field: the model's states, and the observed beside the allowed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from groupcheck.model.bodies import camel
from groupcheck.model.classic.state import Group
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupView,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from groupcheck.properties.compare import member_view
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.findings.reconstruct import reconstruct
from groupcheck.reports.finding_names import FindingNames
from groupcheck.reports.formatting import bounded, duration, value, word
from groupcheck.reports.messages import Names, error_name, offsets_text
from groupcheck.reports.record import Compared

NO_ANSWER: Final = "no answer"


def states(finding: Finding) -> tuple[dict[str, str], ...]:
    """The model's states before the first step and after each; the last is Kafka's."""
    initial, outcomes = reconstruct(finding)
    names = FindingNames.of(finding)
    values = _Values(names.symbols, names.steps)
    return tuple(
        values.fields(state) for state in (initial, *(each.coordinator for each in outcomes))
    )


def compared(finding: Finding) -> tuple[Compared, ...]:
    """The observed last answer beside the allowed one, field by field."""
    difference = finding.difference
    if difference is None:
        return ()
    if difference.field is not None:
        observed, allowed = map(bounded, inner_state(finding, difference.field))
        return (Compared(field=difference.field, observed=observed, allowed=allowed),)
    if difference.request_id is None:
        return (Compared(field="answers", observed="more than one", allowed="one"),)
    names = FindingNames.of(finding)
    seen = _answer(difference.seen, names.ids)
    expected = _answer(difference.allowed, names.symbols)
    return tuple(
        Compared(field=name, observed=seen.get(name, "-"), allowed=expected.get(name, "-"))
        for name in dict.fromkeys((*seen, *expected))
    )


def _answer(body: Any, names: Names) -> dict[str, str]:  # noqa: ANN401 - any record
    if body is None:
        return {"answer": NO_ANSWER}
    values = _Values(names, {})
    fields = {
        camel(name): bounded(values.text(name, each))
        for name, each in zip(body._fields, body, strict=True)
    }
    return {"answer": type(body).__name__, **fields}


def inner_state(finding: Finding, field: str) -> tuple[str, str]:
    """A field of the inner state: the value of the port, and that of Kafka."""
    view = next(iter(finding.exchanges[-1].seen.groups or ()), None)
    group = finding.outcome.coordinator.group if finding.outcome else None
    observed = _field(view, field, FindingNames.of(finding).ids)
    return observed, group_field(finding, group, field)


def group_field(finding: Finding, group: Group | None, field: str) -> str:
    """A field of a group of the model."""
    view = None if group is None else _view_of(group)
    return _field(view, field, FindingNames.of(finding).symbols)


def _field(view: GroupView | None, field: str, names: Names) -> str:
    if view is None:
        return "absent"
    if field == "groupId":
        return f"present, in state {word(view.state)}"
    if field == "offsets":
        return offsets_text(view.offsets or ()) or "empty"
    name = next(each for each in view._fields if camel(each) == field)
    return _Values(names, {}).text(name, getattr(view, name))


def _view_of(group: Group) -> GroupView:
    members = tuple(member_view(each)._replace(group_instance_id=None) for each in group.members)
    offsets = tuple(
        OffsetCommitRequestTopic(
            topic,
            (
                OffsetCommitRequestPartition(
                    partition, each.committed_offset, each.committed_leader_epoch, each.metadata
                ),
            ),
        )
        for (topic, partition), each in group.offsets
    )
    pending = tuple(each.member_id for each in group.pending)
    return GroupView(
        "",
        group.state.value,
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        group.leader,
        members,
        pending,
        offsets,
    )


class _Values:
    """Values of records as text: members by their letters, requests by their steps."""

    def __init__(self, names: Names, steps: Mapping[int, int]) -> None:
        self._names = names
        self._steps = steps

    def fields(self, record: Any) -> dict[str, str]:  # noqa: ANN401 - any record
        """Every field that is not empty, by its path."""
        return {path: bounded(text) for path, text in self._leaves("", record)}

    def _leaves(self, path: str, record: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401
        for name, each in zip(record._fields, record, strict=True):
            here = f"{path}{camel(name)}"
            if each is None or each is False or each in {(), b""}:
                continue
            if hasattr(each, "_fields"):
                yield from self._leaves(f"{here}.", each)
            elif isinstance(each, tuple) and all(hasattr(item, "_fields") for item in each):
                for place, item in enumerate(each, 1):
                    yield from self._leaves(f"{here}[{self._key(place, item)}].", item)
            elif not (name in {"member_id", "name"} and path.endswith("].")):  # the path has it
                yield here, self.text(name, each)

    def _key(self, place: int, record: Any) -> str:  # noqa: ANN401 - any record
        """The letter of a member, the name of a protocol, or the position in the list."""
        if member_id := getattr(record, "member_id", None):
            return self._names.get(member_id, member_id)
        return word(getattr(record, "name", str(place)))

    def text(self, name: str, each: Any) -> str:  # noqa: ANN401 - any value of a record
        """A value of the field of that name."""
        if isinstance(each, int):
            return self._number(name, each)
        if isinstance(each, str):
            return self._names.get(each) or word(each)
        if isinstance(each, tuple):
            return self._several(name, each)
        return value(each)

    def _several(self, name: str, each: tuple[Any, ...]) -> str:
        """A record in a line, without its null fields, or a list."""
        if fields := getattr(each, "_fields", ()):
            pairs = zip(fields, each, strict=True)
            return ", ".join(f"{camel(n)} {self.text(n, v)}" for n, v in pairs if v is not None)
        return "; ".join(self.text(name, item) for item in each) or "empty"

    def _number(self, name: str, number: int) -> str:
        if isinstance(number, bool):
            return "yes" if number else "no"
        if isinstance(number, ErrorCode):
            return error_name(number)
        if name.endswith("_ms") and number >= 0:
            return duration(number)
        of_a_request = name in {"awaiting_join", "awaiting_sync", "request_id"}
        step = self._steps.get(number) if of_a_request else None
        return f"step {step}" if step else str(number)
