"""`groupcheck serve` in its own process, with clients that record what it acknowledged."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from support.client_processes import eventually
from support.serving import QUICK, Wire, connected_to

CLIENTS: Final = 8
TOPIC: Final = "topic"


class Process:
    """A server that can be killed; `address` is where it listens."""

    def __init__(self, data_dir: Path, *options: str) -> None:
        config = [word for each in QUICK for word in ("--config", each)]
        command = [sys.executable, "-m", "groupcheck", "serve", "--listen", "127.0.0.1:0"]
        command += ["--topic", f"{TOPIC}:1"]
        self.process = subprocess.Popen(
            [*command, "--data-dir", str(data_dir), *config, *options],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.said: list[str] = []
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"serving Kafka .* on 127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                return
        raise AssertionError("".join(self.said))

    def kill(self) -> None:
        """SIGKILL, unless it has ended by itself."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()


@contextmanager
def served(data_dir: Path, *options: str) -> Iterator[Process]:
    """A server, which is always ended afterwards."""
    process = Process(data_dir, *options)
    try:
        yield process
    finally:
        process.kill()


class Known(NamedTuple):
    """The last acknowledged state of a client: a stable generation, and an offset."""

    member_id: str = ""
    generation_id: int = 0
    offset: int = -1
    answers: int = 0


class Client(threading.Thread):
    """The only member of a group, which commits, and sometimes begins a new generation."""

    def __init__(self, port: int, group_id: str, before: Known, seed: int) -> None:
        super().__init__(daemon=True)
        self.known = before
        self._port, self._group_id, self._random = port, group_id, Random(seed)

    def run(self) -> None:
        """Continue until the server ends."""
        try:
            with connected_to(self._port) as wire:
                self._join(wire)
                while True:
                    self._commit(wire)
                    if self._random.random() < 0.1:
                        self._join(wire)
        except (OSError, AssertionError):
            return

    def _join(self, wire: Wire) -> None:
        fields: dict[str, Any] = {
            "group_id": self._group_id,
            "session_timeout_ms": 60_000,
            "rebalance_timeout_ms": 60_000,
            "protocol_type": "consumer",
            "protocols": [("range", b"")],
        }
        joined = wire.ask("JoinGroup", 3, member_id=self.known.member_id, **fields)
        if joined.error_code == 25:  # its membership was never stored
            joined = wire.ask("JoinGroup", 3, member_id="", **fields)
        assert joined.error_code == 0
        member_id, generation_id = joined.member_id, joined.generation_id
        synced = wire.ask(
            "SyncGroup",
            0,
            group_id=self._group_id,
            generation_id=generation_id,
            member_id=member_id,
            assignments=[(member_id, b"all")],
        )
        assert synced.error_code == 0
        self._keep(member_id=member_id, generation_id=generation_id)

    def _commit(self, wire: Wire) -> None:
        offset = self.known.offset + 1
        member = self.known.generation_id, self.known.member_id
        assert commit(wire, self._group_id, offset, *member) == 0
        self._keep(offset=offset)

    def _keep(self, **news: Any) -> None:
        self.known = self.known._replace(answers=self.known.answers + 1, **news)


def commit(
    wire: Wire, group_id: str, offset: int, generation_id: int = -1, member_id: str = ""
) -> int:
    """Commit an offset of the one partition; the error."""
    topics = [(TOPIC, [(0, offset, "")])]
    fields = {"generation_id_or_member_epoch": generation_id, "member_id": member_id}
    answer = wire.ask("OffsetCommit", 2, group_id=group_id, topics=topics, **fields)
    return int(answer.topics[0].partitions[0].error_code)


def committed(wire: Wire, group_id: str) -> int:
    """The offset that is committed of it."""
    answer = wire.ask("OffsetFetch", 1, group_id=group_id, topics=[(TOPIC, [0])])
    return int(answer.topics[0].partitions[0].committed_offset)


def lost(port: int, known: dict[str, Known]) -> list[str]:
    """The acknowledged state that the server has lost."""
    found = []
    with connected_to(port) as wire:
        for group_id, (member_id, generation_id, offset, _) in known.items():
            kept = committed(wire, group_id)
            if kept < offset:
                found.append(f"{group_id}: offset {kept} and not {offset}")
            # The next offset may have been stored without an acknowledgement.
            errors = [
                wire.ask(
                    "Heartbeat",
                    0,
                    group_id=group_id,
                    generation_id=generation_id + more,
                    member_id=member_id,
                ).error_code
                for more in (0, 1)
            ]
            if generation_id and 0 not in errors:
                found.append(f"{group_id}: generation {generation_id} is gone: {errors}")
    return found


def _have_answers(clients: list[Client]) -> bool:
    return any(each.known.answers for each in clients)


class Kills(NamedTuple):
    """The results of killing a server many times."""

    acknowledged: int
    lost: list[str]


def kills(data_dir: Path, times: int, seed: int, longest_s: float, *options: str) -> Kills:
    """Repeatedly load a server, kill it after a random time, restart it and check it.

    The first time begins when the server has acknowledged something.
    """
    random = Random(seed)
    known = {f"group-{number}": Known() for number in range(CLIENTS)}
    for _ in range(times):
        with served(data_dir, *options) as server:
            if found := lost(server.port, known):
                return Kills(0, found)
            clients = {
                group_id: Client(server.port, group_id, before, random.randrange(10**9))
                for group_id, before in known.items()
            }
            for client in clients.values():
                client.start()
            # A busy machine may delay the first answer.
            eventually(partial(_have_answers, [*clients.values()]))
            time.sleep(random.uniform(0, longest_s))
            server.kill()
            for client in clients.values():
                client.join()
        known = {group_id: client.known for group_id, client in clients.items()}
    with served(data_dir, *options) as server:
        found = lost(server.port, known)
    return Kills(sum(each.answers for each in known.values()), found)
