"""Consumers that are given bad assignments and subscriptions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from groupcheck.model.client import ASSIGNED, RAISED, ClientEvent
from groupcheck.properties.clients.malformed import (
    ASSIGNMENTS,
    SUBSCRIPTIONS,
    UNKNOWN_PARTITION,
    Outcome,
    outcome,
    outcomes,
)
from groupcheck.properties.clients.port import ClientInfo
from groupcheck.properties.clients.process import ProcessPort
from groupcheck.properties.clients.source import client_source
from support.needs import needs_client

PAGE = Path(__file__).parents[3] / "docs" / "clients-malformed.md"
PYTHON = ("kafka-python", "aiokafka", "librdkafka")
JAVA = ("kafka-clients:2.7", "kafka-clients:4.1")
RAISES = ClientEvent(RAISED, error="another error")


@contextmanager
def opened(spec: str) -> Iterator[tuple[ProcessPort, ClientInfo]]:
    port = client_source(spec).make(lambda _: None)
    assert isinstance(port, ProcessPort)
    try:
        yield port, port.open()
    finally:
        port.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec", [*PYTHON, *(pytest.param(each, marks=needs_client(each)) for each in JAVA)]
)
def test_a_client_does_what_the_page_says(spec: str) -> None:
    head, _, *rows = re.findall(r"^\| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    column = next(n for n, name in enumerate(head.split(" | ")) if name.startswith(named(spec)))
    said = [(cells[0], cells[column]) for row in rows if (cells := row.split(" | "))]
    with opened(spec) as (port, info):
        found = list(outcomes(port, info.patience_s))
    assert [(f"{each.what}: {each.case}", each.words) for each in found] == said


def named(spec: str) -> str:
    """How the page begins the name of a client."""
    return spec.replace(":", " ")


def test_a_truncated_assignment_is_an_error_of_poll_and_the_consumer_joins_again() -> None:
    data = ASSIGNMENTS["truncated"]
    with opened("kafka-python") as (port, info):
        found = outcome(port, "assignment", "truncated", data, info.patience_s)
    assert (found.words, found.wrong) == ("poll raises an error", "")


def test_a_consumer_that_fails_stays_away_silently_or_takes_too_much_is_wrong() -> None:
    made = Outcome("assignment", "truncated")
    assert made.wrong == "it does not join again, and reports nothing"
    assert made._replace(events=(RAISES,)).wrong == made._replace(recovers=True).wrong == ""
    assert made._replace(failure="it hangs").wrong == "it hangs"
    taken = ClientEvent(ASSIGNED, partitions=(UNKNOWN_PARTITION,))
    assert "not subscribed" in made._replace(events=(taken,), recovers=True).wrong


def test_every_case_has_other_bytes() -> None:
    for cases in (ASSIGNMENTS, SUBSCRIPTIONS):
        assert len(set(cases.values())) == len(cases)
