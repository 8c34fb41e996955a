"""What a fault is: something done to a coordinator of this repository before it serves anything."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple

from groupcheck.implementation.core.config import Config
from groupcheck.implementation.core.coordinator import Coordinator, Handle
from groupcheck.implementation.core.shared import Shared
from groupcheck.implementation.core.timers import NEVER, Timer
from groupcheck.implementation.log.records import GroupMetadataRecord, GroupMetadataValue
from groupcheck.model.instances.inputs import GROUP_ID

PutIn = Callable[[Coordinator], None]
Hidden = Callable[[Coordinator], Hashable]

DEFAULTS = Config()


def _nothing(_coordinator: Coordinator) -> Hashable:
    return None


class Fault(NamedTuple):
    """One fault: its name, or its Kafka issue, and the profile under which the right is a rule.

    `hidden` is what the copy keeps that neither its inner state as a port shows it nor the model's
    tells, and on which depends what the fault does.
    """

    name: str
    profile: str
    says: str
    put_in: PutIn
    hidden: Hidden

    def make(
        self,
        config: Config = DEFAULTS,
        *,
        served: Iterable[int] | None = None,
        **options: Any,
    ) -> Coordinator:
        """A coordinator with the fault, which is there already when it reads the log."""
        coordinator = Coordinator(config, served=(), **options)
        self.put_in(coordinator)
        for partition in range(config.offsets_topic_num_partitions) if served is None else served:
            coordinator._loading.load(partition)
        return coordinator


class Faults(dict[str, Fault]):
    """Faults by name."""

    def of(
        self, name: str, profile: str = "2.7", hidden: Hidden = _nothing
    ) -> Callable[[PutIn], PutIn]:
        """Add the one that a function puts in; what it says of it is the first line."""

        def add(put_in: PutIn) -> PutIn:
            says = (put_in.__doc__ or "").partition("\n")[0]
            self[name] = Fault(name, profile, says, put_in, hidden)
            return put_in

        return add


def api(coordinator: Coordinator, request: type) -> Any:
    """The part of a coordinator that handles a request."""
    return coordinator._handlers[request].__self__  # type: ignore[attr-defined]


def stored_in(shared: Shared, group_id: str) -> tuple[GroupMetadataValue | None, ...]:
    """What the log has of a group, the oldest first."""
    return tuple(
        record.value
        for batch in shared.log.read(shared.groups.partition_of(group_id))
        for record in batch.records
        if isinstance(record, GroupMetadataRecord) and record.key.group == group_id
    )


def stored(coordinator: Coordinator) -> tuple[GroupMetadataValue | None, ...]:
    """What the log of a copy has of the one group of every test."""
    return stored_in(coordinator._shared, GROUP_ID)


def timers(coordinator: Coordinator) -> Iterator[tuple[int, Timer]]:
    """The timers that run, each with what is left on it."""
    found = coordinator._timers
    for _, ticket, timer in found._heap:
        if timer.ticket == ticket and timer.deadline_ms != NEVER:
            yield timer.deadline_ms - found.now_ms, timer


def become(coordinator: Coordinator, part: Any, kind: type) -> None:
    """Make a part of a coordinator one of another class, wherever its methods are held."""
    part.__class__ = kind
    held: Any
    for held in (coordinator._handlers, coordinator._timeouts):
        for key, method in held.items():
            if method.__self__ is part:
                held[key] = getattr(part, method.__name__)


def wrap(coordinator: Coordinator, request: type, around: Callable[[Handle], Handle]) -> None:
    """Handle a request in another way, which may make use of the right one."""
    coordinator._handlers[request] = around(coordinator._handlers[request])
