"""Faults: changes of the built-in coordinator before it serves a request."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from groupcheck.implementation.core.config import Config
from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.groups import Groups
from groupcheck.implementation.core.shared import Shared
from groupcheck.implementation.core.timers import NEVER, Timer
from groupcheck.implementation.log.records import GroupMetadataRecord, GroupMetadataValue
from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.vocabulary import HeartbeatRequest

PutIn = Callable[[Coordinator], None]
Hidden = Callable[[Coordinator], Hashable]
F = TypeVar("F", bound=Callable[..., Any])

DEFAULTS = Config()


class Fault(NamedTuple):
    """One fault: its name, or its Kafka issue, and a version with the correct rule.

    `instance` is a small default model instance that reveals it. `hidden` returns the state that
    the effect of the fault depends on, and that neither the reported inner state nor the model has.
    """

    name: str
    profile: str
    says: str
    instance: str
    put_in: PutIn
    hidden: Hidden

    def make(
        self, config: Config = DEFAULTS, *, served: Iterable[int] | None = None, **options: Any
    ) -> Coordinator:
        """A coordinator with the fault, which has an effect already when it reads the log."""
        coordinator = Coordinator(config, served=(), **options)
        self.put_in(coordinator)
        for partition in range(config.offsets_topic_num_partitions) if served is None else served:
            coordinator._loading.load(partition)
        return coordinator

    def row(self, finding_id: str, steps: int, shortest: int) -> str:
        """The row of docs/seeded-faults.md, without the seconds."""
        says = self.says.rstrip(".")
        places = f"`{self.instance}` | `{finding_id}` | {steps} | {shortest}"
        return f"| {self.name} | {self.profile} | {says} | {places} |"


class Faults(dict[str, Fault]):
    """Faults by name."""

    def of(
        self,
        name: str,
        instance: str,
        profile: str = "2.7",
        hidden: Hidden = lambda _coordinator: None,
    ) -> Callable[[F], F]:
        """Add a fault, which the first line of the docstring describes.

        It is a class that replaces its base class in the coordinator, of all groups if that is
        `Group`, or a function that changes the coordinator.
        """

        def add(fault: F) -> F:
            says = (fault.__doc__ or "").partition("\n")[0]
            put_in = _replacing(fault) if isinstance(fault, type) else fault
            self[name] = Fault(name, profile, says, instance, put_in, hidden)
            return fault

        return add


def _replacing(kind: type) -> PutIn:
    part = groups_of(kind) if issubclass(kind, Group) else kind
    return lambda coordinator: become(coordinator, part)


def groups_of(kind: type[Group]) -> type[Groups]:
    """Groups that are all of this class."""

    class GroupsOfKind(Groups):
        __slots__ = ()

        def add(self, group: Group) -> None:
            group.__class__ = kind
            super().add(group)

    return GroupsOfKind


def become(coordinator: Coordinator, kind: type) -> Any:
    """Replace the class of the part that has the base class; returns the part."""
    part = part_of(coordinator, kind.__base__)
    part.__class__ = kind
    for methods in (coordinator._handlers, coordinator._timeouts):
        held: dict[Any, Any] = methods
        for key, method in held.items():
            if method.__self__ is part:
                held[key] = getattr(part, method.__name__)
    return part


def part_of(coordinator: Coordinator, kind: type | None) -> Any:
    """The only part of a coordinator that has this class."""
    held: tuple[dict[Any, Any], ...] = (coordinator._handlers, coordinator._timeouts)
    parts = [method.__self__ for methods in held for method in methods.values()]
    parts += [coordinator, coordinator._loading, coordinator._removal, coordinator._shared.groups]
    api = api_of(coordinator, HeartbeatRequest)
    parts += [api._preconditions, api._static_members]
    (found,) = {id(part): part for part in parts if type(part) is kind}.values()
    return found


def api_of(coordinator: Coordinator, request: type) -> Any:
    """The part of a coordinator that handles a request."""
    handle: Any = coordinator._handlers[request]
    return handle.__self__


def stored_in(shared: Shared, group_id: str) -> tuple[GroupMetadataValue | None, ...]:
    """The records of a group in the log, the oldest first."""
    return tuple(
        record.value
        for batch in shared.log.read(shared.groups.partition_of(group_id))
        for record in batch.records
        if isinstance(record, GroupMetadataRecord) and record.key.group == group_id
    )


def stored(coordinator: Coordinator) -> tuple[GroupMetadataValue | None, ...]:
    """The records of the tests' group in the log of a copy."""
    return stored_in(coordinator._shared, GROUP_ID)


def timers(coordinator: Coordinator) -> Iterator[tuple[int, Timer]]:
    """The running timers, each with its remaining time."""
    found = coordinator._timers
    for _, ticket, timer in found._heap:
        if timer.ticket == ticket and timer.deadline_ms != NEVER:
            yield timer.deadline_ms - found.now_ms, timer
