"""Any changed trace is rejected in one line, or it replays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.graph import StateGraph
from groupcheck.model.engine.trace import inputs_to
from groupcheck.model.vocabulary import Request
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import MalformedTraceError, Sequence, dump, parse
from support.spaces import explored_once

Json = Any

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-1, 3)
    | st.sampled_from((2**31 - 1, 2**31, -(2**31), 2**63, 6_000, 1_800_001))
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(("", "#1", "#2", "nobody", "group", "range", "AA==", "\ud800", "x" * 33_000)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.just("memberId"), inner, max_size=3)
    ),
    max_leaves=6,
)
# Of the same type as the replaced values, so that the trace may be accepted.
ALIKE: dict[type, st.SearchStrategy[Json]] = {
    int: st.integers(-2, 8) | st.sampled_from((2**31 - 1, -(2**31), 6_000, 1_800_001)),
    str: st.sampled_from(("", "#1", "#2", "nobody", "group", "range", "AA==", "JoinGroup")),
    list: st.just([]),
}


@cache
def _well_formed() -> list[list[Json]]:
    """The messages of traces in which every API and fault is used."""
    traces = []
    for name, every in (("metadata", 25), ("storing", 40)):
        space = explored_once(virtual_time_instances(PROFILES["2.7"], 2)[name])
        graph = StateGraph(space)
        for node in range(0, len(space.nodes), every):
            state, steps = inputs_to(space, graph.path(node))
            form = space.canonical(state)
            last = space.edges[node][node % len(space.edges[node])].given
            if isinstance(last, Request):
                last = form.restore(last, len(steps) + 1)
            text = dump(Sequence("2.7", space.instance.broker, (*steps, last)))
            traces.append([json.loads(line) for line in text.splitlines()])
    return traces


def _places(value: Json) -> Iterator[tuple[Any, Any]]:
    """Every container in a JSON value with each key of it."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


@st.composite
def _mutated(draw: st.DrawFn) -> list[Json]:
    messages: list[Json] = json.loads(json.dumps(draw(st.sampled_from(_well_formed()))))
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(messages))
        container, key = draw(st.sampled_from(places))
        match draw(st.sampled_from(("alike", "replace", "delete", "double"))):
            case "alike" if type(container[key]) in ALIKE:
                container[key] = draw(ALIKE[type(container[key])])
            case "alike" | "replace":
                container[key] = draw(VALUES)
            case "delete" if len(messages) > 1:
                del container[key]
            case _ if isinstance(container, list):
                container.insert(key, json.loads(json.dumps(container[key])))
    return messages


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_mutated())
def test_mutated_trace_is_refused_in_one_line_or_replays_without_a_finding_on_the_built_in_port(
    messages: list[Json],
) -> None:
    text = "".join(json.dumps(message) + "\n" for message in messages)
    try:
        sequence = parse(text, "t")
    except MalformedTraceError as refused:
        line = str(refused)
        assert line.startswith("t:")
        assert "\n" not in line
        assert len(line) < 300
        return
    assert parse(dump(sequence), "t") == sequence
    assert replay(sequence, BuiltinPort()) is None


@settings(max_examples=200, deadline=None)
@given(st.text() | st.lists(st.text(st.characters(codec="utf-8"))).map("\n".join))
def test_any_text_is_refused_as_a_trace_in_one_line(text: str) -> None:
    with pytest.raises(MalformedTraceError, match=r"\At:[^\n]*\Z"):
        parse(text, "t")
