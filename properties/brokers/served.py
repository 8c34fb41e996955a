"""This project's own coordinator behind Kafka's wire protocol: the control."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from threading import Event
from typing import Final

from groupcheck.properties.brokers.definition import (
    Address,
    BrokerDefinition,
    no_package,
    wait_for_address,
)
from groupcheck.properties.brokers.supervised import Supervised

MAIN: Final = ("groupcheck", "serve")
MODULES: Final = ("aiokafka", "kio")  # of groupcheck[serve]


def definitions() -> list[BrokerDefinition]:
    """Return a definition for each version that it implements."""
    return [
        BrokerDefinition(
            name,
            f"groupcheck serve, as Kafka {profile}",
            profile,
            "the packages of groupcheck[serve]",
            missing=partial(no_package, *MODULES, extra="serve"),
            prepare=lambda _: None,
            launch=partial(_launch, profile),
        )
        for name, profile in (("serve", "2.7"), ("serve:4.1", "4.1"))
    ]


def _launch(
    profile: str, programs: Supervised, settings: Mapping[str, int], interrupted: Event
) -> Address:
    options = [word for n, value in settings.items() for word in ("--config", f"{n}={value}")]
    command = [sys.executable, "-m", *MAIN, "--profile", profile]
    programs.start("serve", [*command, "--listen", "127.0.0.1:0", *options])
    return wait_for_address(programs, "serve", "serving Kafka .* on", interrupted)
