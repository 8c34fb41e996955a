"""The end of a session of ZooKeeper, which needs the password of the session."""

from __future__ import annotations

import socket

import pytest

from groupcheck.properties.cluster.real.zookeeper import SECRET, end_session, is_ready, password
from groupcheck.properties.ports.port import PortFailedError

OF_42 = -1170105035  # new java.util.Random(42).nextInt()
THEN = 234785527  # and its next one


def test_the_password_of_a_session_is_that_of_javas_random() -> None:
    made = password(42 ^ SECRET)
    assert len(made) == 16
    assert int.from_bytes(made[:4], "little", signed=True) == OF_42
    assert int.from_bytes(made[4:8], "little", signed=True) == THEN


def test_a_session_cannot_be_ended_where_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(PortFailedError, match="ZooKeeper does not end a session"):
        end_session(port, 1)


def test_a_port_that_never_answers_is_not_ready() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert not is_ready(silent.getsockname()[1])
