"""Mokapi, a tool that mocks APIs, as a Kafka broker: the program in a package of npm.

It listens on all interfaces, so it runs in a network namespace of its own (`isolated`).
"""

from __future__ import annotations

import base64
import hashlib
import platform
import shutil
import sys
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Final

from groupcheck.cache import cache_folder
from groupcheck.model.classic.instances.inputs import OTHER_TOPIC, TOPIC
from groupcheck.properties.brokers import isolated
from groupcheck.properties.brokers.cache import cached, do, output, unusable
from groupcheck.properties.brokers.definition import (
    Address,
    BrokerDefinition,
    free_port,
    wait_for_coordinator,
)
from groupcheck.properties.brokers.supervised import Supervised
from groupcheck.properties.ports.port import PortUnavailableError

PACKAGE: Final = "@go-mokapi/linux-x64@0.52.0"  # what go-mokapi installs there
# Its SHA-512, as npm prints it.
INTEGRITY: Final = (
    "wU24Ag4okhZ/OsBR4CV2XAY36nixrQGaET1A9eQQ2hZkQo9P50yKJt+wPrAxne1g8sZv2X4Kf6GBpIGJmqDHfw=="
)
PROGRAM: Final = Path("package", "bin", "mokapi")
NPM: Final = (7,)
SETTINGS: Final = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}
API: Final = """\
asyncapi: 3.0.0
info: {{title: groupcheck, version: 1.0.0}}
servers:
  broker:
    host: 127.0.0.1:{port}
    protocol: kafka
    bindings: {{kafka: {{{settings}}}}}
channels: {{{topics}}}
"""


def definition() -> BrokerDefinition:
    """Return its definition."""
    return BrokerDefinition(
        "mokapi",
        "Mokapi",
        "2.7",
        "Linux on x86_64, and npm to download it once",
        missing=_missing,
        prepare=_downloaded,
        launch=_launch,
        settings=SETTINGS,
        unreported=SETTINGS,
        null_as_empty=True,  # of errors: a null leader, for example, is not valid in JoinGroup
    )


def _launch(programs: Supervised, settings: Mapping[str, int], interrupted: Event) -> Address:
    address = ("127.0.0.1", free_port())
    api = API.format(
        port=address[1],
        # It replaces 0 by its default, which is 3,000 for the initial delay.
        settings=", ".join(f"{name}: {value or 1}" for name, value in settings.items()),
        topics=", ".join(f"{topic}: {{}}" for topic in (TOPIC, OTHER_TOPIC)),
    )
    path = programs.write("kafka.yaml", api)
    program = [str(_downloaded(lambda _: None)), "--providers-file-filename", str(path)]
    isolation = [sys.executable, isolated.__file__, str(address[1])]
    # Its own HTTP server would take port 8080, which is free in the namespace.
    programs.start("mokapi", [*isolation, *program])
    return wait_for_coordinator(programs, ("mokapi",), address, interrupted)


def _name() -> str:
    return f"mokapi-{hashlib.sha256(INTEGRITY.encode()).hexdigest()[:12]}"


def _downloaded(report: Callable[[str], None]) -> Path:
    """Return the program's path; downloads it once, and checks its hash."""

    def download(folder: Path) -> None:
        report(f"downloading Mokapi with npm into {cache_folder()}")
        packed = folder.with_name("packed")
        packed.mkdir()
        npm = ["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", str(packed)]
        do([*npm, PACKAGE], "Mokapi cannot be downloaded", packed)
        (archive,) = packed.iterdir()
        digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if digest != INTEGRITY:
            msg = f"Mokapi cannot be downloaded: {PACKAGE} has a wrong hash"
            raise PortUnavailableError(msg)
        with tarfile.open(archive) as files:
            program = files.extractfile(PROGRAM.as_posix())
            if program is None:
                msg = f"Mokapi cannot be downloaded: {PACKAGE} has no {PROGRAM}"
                raise PortUnavailableError(msg)
            (folder / PROGRAM).parent.mkdir(parents=True, exist_ok=True)
            (folder / PROGRAM).write_bytes(program.read())
        (folder / PROGRAM).chmod(0o755)

    return cached(_name(), download) / PROGRAM


def _missing() -> str | None:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        return f"there is no build for {sys.platform} on {platform.machine()}"
    trial = output(sys.executable, isolated.__file__, "0", sys.executable, "--version")
    if not trial.startswith("Python"):
        return "it listens on all interfaces, and no network namespace can be made for it"
    if (cache_folder() / _name()).is_dir():
        return None
    return unusable(shutil.which("npm"), "npm", "--version", r"^(\d+)\.", NPM)
