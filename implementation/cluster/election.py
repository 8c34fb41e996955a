"""Who is the controller: the event queue, the election and the resignation.

KafkaController.scala and ControllerEventManager.scala at tag 2.7.2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from groupcheck.implementation.cluster import events, nodes
from groupcheck.implementation.cluster.access import Access, ControllerMovedError
from groupcheck.implementation.cluster.batch import Channels
from groupcheck.implementation.cluster.context import ControllerContext, ControllerError
from groupcheck.implementation.cluster.events import AlterIsrReceived, ControllerEvent, Event
from groupcheck.implementation.cluster.store import CHILDREN, DELETED, StoreError

_CHILD_EVENTS = {
    nodes.BROKER_IDS: Event(events.BROKER_CHANGE),
    nodes.TOPICS: Event(events.TOPIC_CHANGE),
    nodes.DELETE_TOPICS: Event(events.TOPIC_DELETION),
    nodes.ISR_CHANGES: Event(events.ISR_CHANGE),
}


class Elected:
    """The part of a controller that every broker has.

    Args:
        broker: its id.
        access: to the store, with the session of the broker.
        register: registers the broker again, in a new session.
        channels: to the brokers.
        older: whether it does what Kafka 2.4 does.
    """

    def __init__(
        self,
        broker: int,
        access: Access,
        register: Callable[[], None],
        channels: Channels,
        *,
        older: bool,
    ) -> None:
        self.broker = broker
        self.access = access
        self.channels = channels
        self.context = ControllerContext(older=older)
        self.queue: deque[ControllerEvent] = deque()
        self.claiming: tuple[int, int] | None = None  # the epoch that an election has read
        self.active = False
        self._register = register
        self._handles_children = False

    def put(self, event: ControllerEvent) -> None:
        """Add an event (ControllerEventManager.scala:102)."""
        self.queue.append(event)

    def drop_events(self) -> None:
        """Drop the events; AlterIsr is never answered (ControllerEventManager.scala:108)."""
        dropped, self.queue = self.queue, deque()
        for event in dropped:
            if isinstance(event, AlterIsrReceived):
                event.answer(events.NETWORK_EXCEPTION, {})

    def handle(self) -> ControllerEvent:
        """Handle the next event; return it (KafkaController.scala:2375).

        An error is logged, and the event ends where it is. After ControllerMovedError the
        controller resigns, if it is another one.
        """
        event = self.queue.popleft()
        self._logged(lambda: self._process(event))
        return event

    def claim(self) -> None:
        """Claim `/controller`: the second step of an election."""
        self._logged(self._claim)

    def _logged(self, action: Callable[[], None]) -> None:
        try:
            try:
                action()
            except ControllerMovedError:
                self._maybe_resign()
        except (ControllerError, StoreError):
            return

    def _process(self, event: ControllerEvent) -> None:
        raise NotImplementedError

    def _fail_over(self) -> None:
        raise NotImplementedError

    def _process_startup(self) -> None:
        """KafkaController.scala:1415."""
        self._watch_controller()
        self._elect()

    def _process_reelect(self) -> None:
        """KafkaController.scala:2359."""
        self._maybe_resign()
        self._elect()

    def _process_register(self) -> None:
        """KafkaController.scala:2364."""
        self._register()
        self._process_reelect()

    def _process_expire(self) -> None:
        """KafkaController.scala:2369."""
        self.active = False
        self._resign()

    def _watch_controller(self) -> None:
        self.access.session.exists(nodes.CONTROLLER, self._controller_changed)

    def _controller_changed(self, kind: str, _path: str) -> None:
        """KafkaController.scala:2527."""
        self.put(Event(events.REELECT if kind == DELETED else events.CONTROLLER_CHANGE))

    def _children_changed(self, kind: str, path: str) -> None:
        """KafkaController.scala:2452. After a resignation a watch is there, but no handler."""
        if kind == CHILDREN and self._handles_children:
            self.put(_CHILD_EVENTS[path])

    def _read_active(self) -> int | None:
        controller = self.access.controller(self._controller_changed)
        self.active = controller == self.broker
        return controller

    def _maybe_resign(self) -> None:
        """KafkaController.scala:1484."""
        was_active = self.active
        self._watch_controller()
        self._read_active()
        if was_active and not self.active:
            self._resign()

    def _elect(self) -> None:
        """The first step of an election: read the epoch, if there is no controller.

        KafkaController.scala:1493.
        """
        if self._read_active() is None:
            self.claiming = self.access.controller_epoch()

    def _claim(self) -> None:
        """KafkaController.scala:1506."""
        if self.claiming is None:
            return
        (epoch, version), self.claiming = self.claiming, None
        try:
            claimed = self.access.register_controller(
                self.broker, epoch, version, self._controller_changed
            )
            self.context.epoch, self.context.epoch_version = claimed
            self.active = True
            self._fail_over()
        except ControllerMovedError:
            self._maybe_resign()
        except (ControllerError, StoreError):
            self._move()

    def _move(self) -> None:
        """Let another broker be the controller (KafkaController.scala:1467)."""
        if self._read_active() != self.broker:
            return
        version = self.context.epoch_version
        self.active = False
        self._resign()
        try:
            self.access.delete_controller(version)
        except ControllerMovedError:
            return

    def _resign(self) -> None:
        """Stop watching, end the connections and forget the cluster (KafkaController.scala:449).

        Requests that are left in a batch of the state machines stay there.
        """
        self._handles_children = False
        for each in self.context.being_reassigned:
            self.access.ignore_state(each)
        self.channels.close()
        self.context.reset()
