"""Events as columns are the events of the table."""

from __future__ import annotations

from itertools import chain, groupby, starmap
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.properties.histories.events import Event
from support.needs import needs_packages

needs_packages("pyarrow")

from groupcheck.pipeline.event_columns import histories  # noqa: E402
from groupcheck.pipeline.kernels import DisorderedError, replayed  # noqa: E402
from support.replayed import as_events, batch  # noqa: E402


@st.composite
def tables(draw: st.DrawFn) -> list[Event]:
    """Events of several histories, sorted."""
    event = st.builds(
        Event,
        group_id=st.sampled_from("ab"),
        source=st.sampled_from("xy"),
        session=st.integers(0, 1),
        seq=st.integers(0, 2**40),
        line=st.just(1),
        at_ms=st.integers(0, 1),
        kind=st.sampled_from(("open", "request", "response")),
        request_id=st.integers(1, 2) | st.none(),
        api=st.just("Heartbeat"),
        api_version=st.just(2),
        body=st.sampled_from(("{}", "a")) | st.none(),
    )
    return sorted(draw(st.lists(event, max_size=30, unique_by=lambda e: e[:4])))


@pytest.mark.slow
@given(tables(), st.slices(30))
def test_histories_have_the_events_of_the_batch(events: list[Event], part: slice) -> None:
    found = list(histories(batch(events)))
    assert list(chain.from_iterable(found)) == events
    assert [list(each[part]) for each in found] == [
        list(of_history)[part] for _, of_history in groupby(events, attrgetter("history"))
    ]


def pair(request: Event, answer: Event, after: Event) -> str | None:
    """The content of the pair that begins at `request`, None if none begins there."""
    same = attrgetter("history", "request_id", "at_ms")
    if request.kind != "request" or answer.kind != "response" or after.kind == "response":
        return None
    if same(request) != same(answer) or None in (request.request_id, request.body, answer.body):
        return None
    return f"Heartbeat\0{request.api_version}\0{request.body}\0{answer.body}"


@pytest.mark.slow
@given(tables())
def test_a_pair_is_a_request_and_its_only_response(events: list[Event]) -> None:
    found = chain.from_iterable(each.pairs for each in histories(batch(events)))
    triples = zip(events, events[1:], events[2:], strict=False)
    assert list(found) == [*starmap(pair, triples), None, None][: len(events)]


def test_a_history_that_begins_with_a_response_is_an_error() -> None:
    events = as_events([])
    request = events[0]._replace(seq=2, kind="request", request_id=1, api="Heartbeat", body="{}")
    request = request._replace(api_version=2)
    answer = request._replace(session=2, seq=1, kind="response")
    after = request._replace(session=2, seq=2)
    with pytest.raises(DisorderedError, match="not the first event"):
        list(replayed([batch([*events, request, answer, after])]))
