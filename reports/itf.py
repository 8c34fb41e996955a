"""Traces in Apalache's Informal Trace Format (its ADR 15), for the tools of TLA+.

A state has the variables of the model (`group`, `holding`, `appends` and so on) and the step that
led to it: `input`, `answers` and `rules`. In the trace of a finding `observed` has the answers of
the port. The types give the encoding: an optional value is a list of none or one, bytes are base64.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

from groupcheck.model.bodies import camel
from groupcheck.model.classic.exploring.exploration import Witness
from groupcheck.model.classic.state import Coordinator, Serving, TopicPartition
from groupcheck.model.classic.step import Outcome
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import ErrorCode, GroupState, Response
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.findings.reconstruct import reconstruct
from groupcheck.reports.finding_title import title

Encoder = Callable[[Any], Any]

VARIABLES: Final[dict[str, Any]] = {
    **get_type_hints(Coordinator),
    "input": Input | None,
    "answers": tuple[Response, ...],
    "rules": tuple[str, ...],
}


OBSERVED: Final[dict[str, Any]] = {"observed": tuple[Response, ...]}


def as_itf(witness: Witness) -> dict[str, Any]:
    """A witness as JSON: the initial state, then the state after each step."""
    values: list[tuple[Any, ...]] = [(*witness.instance.initial, None, (), ())]
    values += [_values(given, outcome) for given, outcome in witness.steps]
    return _trace(
        VARIABLES,
        values,
        f"a shortest trace to {witness.rule} in the instance {witness.space}"
        f" of {witness.instance.profile.kafka}",
    )


def finding_as_itf(finding: Finding) -> dict[str, Any]:
    """A finding as JSON: the last state is that of Kafka."""
    initial, outcomes = reconstruct(finding)
    values: list[tuple[Any, ...]] = [(*initial, None, (), (), ())]
    values += [
        (*_values(exchange.given, outcome), finding.answered(exchange))
        for exchange, outcome in zip(finding.exchanges, outcomes, strict=False)
    ]
    what = f"finding {finding.finding_id}: {title(finding)}"
    return _trace(VARIABLES | OBSERVED, values, what)


def _values(given: Input, outcome: Outcome) -> tuple[Any, ...]:
    return (*outcome.coordinator, given, outcome.responses, outcome.applied)


def _trace(
    variables: dict[str, Any], values: list[tuple[Any, ...]], description: str
) -> dict[str, Any]:
    return {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "source": "groupcheck",
            "description": description,
        },
        "vars": list(variables),
        "states": [
            {"#meta": {"index": index}, **_state(variables, each)}
            for index, each in enumerate(values)
        ],
    }


def _state(variables: dict[str, Any], values: tuple[Any, ...]) -> dict[str, Any]:
    return {
        name: _encoder(hint)(value)
        for (name, hint), value in zip(variables.items(), values, strict=True)
    }


_SCALARS: dict[object, Encoder] = {
    str: str,
    GroupState: str,
    Serving: str,
    bool: bool,
    int: lambda value: {"#bigint": str(value)},
    bytes: lambda value: base64.b64encode(value).decode(),
    ErrorCode: lambda value: value.name,
}


@cache
def _encoder(hint: Any) -> Encoder:
    """The function that writes a value of that type."""
    if hint in _SCALARS:
        return _SCALARS[hint]
    if isinstance(hint, UnionType):
        return _variant(get_args(hint))
    if get_origin(hint) is tuple:
        return _tuple(get_args(hint))
    fields = [(name, camel(name), _encoder(h)) for name, h in get_type_hints(hint).items()]
    return lambda record: {key: encode(getattr(record, name)) for name, key, encode in fields}


def _variant(kinds: tuple[Any, ...]) -> Encoder:
    if NoneType in kinds:
        rest = tuple(kind for kind in kinds if kind is not NoneType)
        encode = _encoder(rest[0]) if len(rest) == 1 else _variant(rest)
        return lambda value: [] if value is None else [encode(value)]
    encoders = {kind: _encoder(kind) for kind in kinds}
    return lambda value: {"tag": type(value).__name__, "value": encoders[type(value)](value)}


def _tuple(kinds: tuple[Any, ...]) -> Encoder:
    """A fixed tuple, a map kept as a tuple of pairs, or a list."""
    if kinds[-1] is not ...:
        encoders = tuple(map(_encoder, kinds))
        return lambda value: {"#tup": [e(v) for e, v in zip(encoders, value, strict=True)]}
    item = kinds[0]
    if get_origin(item) is tuple and item != TopicPartition:
        key, mapped = map(_encoder, get_args(item))
        return lambda value: {"#map": [[key(k), mapped(v)] for k, v in value]}
    encode = _encoder(item)
    return lambda value: [encode(entry) for entry in value]
