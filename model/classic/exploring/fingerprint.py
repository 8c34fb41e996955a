"""Converts a state to text that is the same in every process, and back; hashes the text.

Python's hash differs between processes, and a pickle depends on object identity. Here a state is
JSON with the name of each record and enumeration: one text for one state. The hash is BLAKE2b of
128 bits. Two states with the same hash count as one, so successors of the second are missed. The
probability among n states is at most n^2 / 2^129: about 10^-21 for 10^9 states.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from enum import Enum
from functools import lru_cache
from hashlib import blake2b, sha256
from itertools import groupby
from json.encoder import encode_basestring
from operator import itemgetter
from types import NoneType
from typing import Any, Final

from groupcheck.model import vocabulary
from groupcheck.model.bodies import encode_record
from groupcheck.model.classic import state as state_records
from groupcheck.model.classic.instances.inputs import action
from groupcheck.model.classic.state import Coordinator
from groupcheck.model.engine.exploration import StateSpace

KEY_BYTES: Final = 16
KEPT: Final = 65_536  # texts of records; states share many

# The only names that a text may contain.
_NAMED: Final[dict[str, Any]] = {
    name: named
    for module in (vocabulary, state_records)
    for name, named in vars(module).items()
    if isinstance(named, type) and issubclass(named, tuple | Enum)
}


def written(state: Coordinator) -> str:
    """The text of a state."""
    return _record.__wrapped__(state)


def read(text: str) -> Coordinator:
    """The state of a text that `written` has made."""
    found: Coordinator = json.loads(text, object_hook=_named)
    return found


def key(text: str) -> bytes:
    """The hash of a state's text."""
    return blake2b(text.encode(), digest_size=KEY_BYTES).digest()


def digest(keys: Iterable[bytes]) -> str:
    """A digest of a set of hashes: SHA-256 of the digests of those with the same first byte.

    It can be computed from parts of the set that are sorted separately.
    """
    ordered = groupby(sorted(each.hex() for each in keys), key=itemgetter(slice(2)))
    parts = [sha256("".join(same).encode()).hexdigest() for _, same in ordered]
    return sha256("".join(parts).encode()).hexdigest()


_PLAIN: Final[dict[type, Callable[[Any], str]]] = {
    int: str,
    str: encode_basestring,
    NoneType: lambda _: "null",
    bool: lambda value: "true" if value else "false",
    bytes: lambda value: f'{{"bytes":"{value.hex()}"}}',
    tuple: lambda value: f"[{','.join(map(_text, value))}]",
}


def _text(value: Any) -> str:  # noqa: ANN401 - whatever a state holds
    kind = type(value)
    if kind in _PLAIN:
        return _PLAIN[kind](value)
    if isinstance(value, Enum):
        return f'{{"{kind.__name__}":{json.dumps(value.value)}}}'
    return _record(value)


@lru_cache(KEPT, typed=True)
def _record(record: tuple[Any, ...]) -> str:
    return f'{{"{type(record).__name__}":[{",".join(map(_text, record))}]}}'


def _named(written_as: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever a state holds
    ((name, value),) = written_as.items()
    if name == "bytes":
        return bytes.fromhex(value)
    named = _NAMED[name]
    return named(value) if issubclass(named, Enum) else named(*map(_tuples, value))


def _tuples(value: Any) -> Any:  # noqa: ANN401 - whatever a state holds
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def edge_ids(space: StateSpace) -> tuple[tuple[str, ...], ...]:
    """The id of each transition, at its index: 64 bits of a hash.

    A transition is the same in two versions of the model if its states, its input and its
    responses are.
    """
    states = [_short_hash(encode_record(node)) for node in space.nodes]
    return tuple(
        tuple(
            _short_hash(
                [
                    states[source],
                    action(edge.given),
                    encode_record(edge.given),
                    [encode_record(response) for response in edge.responses],
                    states[edge.target],
                ]
            )
            for edge in edges
        )
        for source, edges in enumerate(space.edges)
    )


def _short_hash(value: Any) -> str:  # noqa: ANN401 - whatever JSON has
    return sha256(json.dumps(value).encode()).hexdigest()[:16]
