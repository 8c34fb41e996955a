"""Ids of transitions that stay the same when others change.

An edge is the same in two versions of the model if its states, its input and its answers are.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from groupcheck.model.bodies import encode_record
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.instances.inputs import action


def edge_ids(space: StateSpace) -> tuple[tuple[str, ...], ...]:
    """The id of each edge, where the edge stands: 64 bits of a hash."""
    states = [_digest(encode_record(node)) for node in space.nodes]
    return tuple(
        tuple(
            _digest(
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


def _digest(value: Any) -> str:  # noqa: ANN401 - whatever JSON has
    return sha256(json.dumps(value).encode()).hexdigest()[:16]
