"""A real cluster for the time of a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from groupcheck.properties.cluster.real.driver import RealCluster
from groupcheck.properties.cluster.real.processes import release_of


@contextmanager
def real_cluster(name: str) -> Iterator[RealCluster]:
    """A cluster that is started by name, and stopped in the end."""
    running = RealCluster(release_of(name), Event(), lambda _: None)
    try:
        yield running
    finally:
        running.stop()
