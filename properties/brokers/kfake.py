"""kfake, the fake cluster of franz-go, in a small program that is built once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import Final

from groupcheck.model.classic.instances.inputs import TOPIC
from groupcheck.properties.brokers.definition import (
    SETTINGS,
    Address,
    BrokerDefinition,
    wait_for_address,
)
from groupcheck.properties.brokers.go import OLDEST_GO, GoProgram
from groupcheck.properties.brokers.supervised import Supervised

PROGRAM: Final = GoProgram("kfake", Path(__file__).with_name("kfake_main"))

DELAY: Final = "group.initial.rebalance.delay.ms"  # kfake has no initial delay and reports none
SESSIONS: Final = ("group.min.session.timeout.ms", "group.max.session.timeout.ms")


def definition() -> BrokerDefinition:
    """Return its definition."""
    return BrokerDefinition(
        "kfake",
        "franz-go's kfake",
        "4.1",
        f"Go {'.'.join(map(str, OLDEST_GO))} or later, to build it once",
        missing=PROGRAM.missing,
        prepare=PROGRAM.built,
        launch=_launch,
        settings={name: SETTINGS[name] for name in (*SESSIONS, "group.max.size")},
        unreported={DELAY: 0},
    )


def _launch(programs: Supervised, settings: Mapping[str, int], interrupted: Event) -> Address:
    arguments = [f"{name}={value}" for name, value in settings.items()]
    # It creates topics only if the request allows it, which not every version can express.
    programs.start("kfake", [str(PROGRAM.built(lambda _: None)), TOPIC, *arguments])
    return wait_for_address(programs, "kfake", "listening on", interrupted)
