"""A ZooKeeper that cannot be reached, denies, or is lost: a documented error in bounded time."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from groupcheck.implementation.cluster.store import DeniedError, UnavailableError, create, set_data
from support.needs import needs_broker, needs_packages
from support.started_zookeeper import Roots, started_zookeeper

needs_packages("kazoo")
from groupcheck.implementation.cluster.zookeeper import ZooKeeperStore  # noqa: E402 - see above

CONNECT_S = 1.0
BOUND_S = 10.0


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """No thread is left."""
    before = threading.active_count()
    yield
    deadline = time.monotonic() + BOUND_S
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() <= before


def check_unavailable(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    since = time.monotonic()
    with pytest.raises(UnavailableError, match=f"UnavailableError: 127.0.0.1:{port}"):
        ZooKeeperStore(f"127.0.0.1:{port}", session_s=CONNECT_S, connect_s=CONNECT_S).open()
    assert time.monotonic() - since < BOUND_S
    assert capfd.readouterr() == ("", "")


def test_a_port_on_which_nothing_listens_is_given_up(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        check_unavailable(free.getsockname()[1], capfd)


def test_a_port_that_never_answers_is_given_up(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        check_unavailable(silent.getsockname()[1], capfd)


@needs_broker("kafka:2.7")
def test_a_missing_root_and_a_denied_write_are_errors_of_the_store(
    capfd: pytest.CaptureFixture[str],
) -> None:
    from kazoo.security import make_acl  # noqa: PLC0415

    with started_zookeeper() as roots:
        missing(roots)
        session = ZooKeeperStore(roots.address).open()
        create(session, "/read-only")
        session._client.set_acls("/read-only", [make_acl("world", "anyone", read=True)])
        with pytest.raises(DeniedError):
            set_data(session, "/read-only", b"data")
        with pytest.raises(DeniedError):
            create(session, "/read-only/child")
        session.close()
    assert "No chroot" not in capfd.readouterr().err


def missing(roots: Roots) -> None:
    with pytest.raises(UnavailableError):
        ZooKeeperStore(f"{roots.address}/not/there").open()
