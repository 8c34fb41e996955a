"""This project's own coordinator, behind the wire as the others are: the control."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from threading import Event
from typing import Final

from groupcheck.properties.brokers.kept import Kept
from groupcheck.properties.brokers.recipe import Address, Recipe, no_package, said_address

MAIN: Final = ("groupcheck", "serve")
MODULES: Final = ("aiokafka", "crc32c", "kio")  # of groupcheck[serve]


def recipes() -> list[Recipe]:
    """How it is brought up, as Kafka of each version that it is."""
    return [
        Recipe(
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


def _launch(profile: str, kept: Kept, settings: Mapping[str, int], interrupted: Event) -> Address:
    said = [word for n, value in settings.items() for word in ("--config", f"{n}={value}")]
    command = [sys.executable, "-m", *MAIN, "--profile", profile]
    kept.start("serve", [*command, "--listen", "127.0.0.1:0", *said])
    return said_address(kept, "serve", "serving Kafka .* on", interrupted)
