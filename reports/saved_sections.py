"""What a saved result has of its own if it is of an exploration of the model, or a check of logs.

The form is that of `explore --json` and `check --json`; what all results have is in `saved`.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """A strongly connected component of a space; nothing leads out of one that is terminal."""

    states: int
    terminal: bool


class ExploredSpace(msgspec.Struct, frozen=True, kw_only=True):
    """A space of the model and its figures.

    `generated` is null where states that differ in names alone are one, `components` where nobody
    looked for them. `longest_witness` is how many steps show any labelled edge at the most.
    """

    name: str
    states: int
    edges: int
    generated: int | None
    depth: int
    longest_witness: int
    digest: str
    seconds: float
    out_degree: dict[str, float]
    discovered: dict[str, float]
    actions: dict[str, int]
    rules: dict[str, int]
    components: tuple[Component, ...] | None


class AskedLaw(msgspec.Struct, frozen=True, kw_only=True):
    """A law that was asked; if it does not hold, `known` says whether Kafka is known for that."""

    name: str
    says: str
    source: str
    holds: bool
    known: bool


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """A shortest path to a rule, in the messages of the port protocol."""

    rule: str
    space: str
    steps: tuple[dict[str, Any], ...]


class Exploration(msgspec.Struct, frozen=True, kw_only=True):
    """The model explored: its spaces, and how often each rule is the reason for each arrow.

    `laws` are null if none were asked, `errors` what is wrong with the model but for laws.
    """

    members: int
    features: tuple[str, ...]
    generations: int
    symmetry: bool
    errors: tuple[str, ...]
    spaces: tuple[ExploredSpace, ...]
    arrows: dict[str, dict[str, int]]
    rules_not_applied: tuple[str, ...]
    laws: tuple[AskedLaw, ...] | None
    witness: Witness | None


class Often(msgspec.Struct, frozen=True, kw_only=True):
    """A group that rebalances often, and the most frequent reason."""

    group_id: str
    times: int
    reason: str


class Rebalance(msgspec.Struct, frozen=True, kw_only=True):
    """A rebalance of a group in a session, which lasted until `last_ms`; null is not seen."""

    source: str
    session: int
    group_id: str
    last_ms: int
    began_ms: int
    joined_ms: int | None
    ended_ms: int | None
    reason: str
    generation: int | None
    members: int | None
    last_client: str | None
    outcome: str


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """What groups did, held to the model: how many did what, and the `reasons` of undecided ones.

    `judged` of the `events` are in accepted prefixes. Of labelled edges there is how many were
    shown, how many the explored spaces have, and how many `both`: null where several results were
    put together. `read` counts what was taken in, and is null if that was done before;
    `rebalances` are those of the groups that have most.
    """

    groups: int
    accepted: int
    rejected: int
    undecided: int
    events: int
    judged: int
    reasons: dict[str, int]
    edges: int | None
    explored: int | None
    both: int | None
    rebalancing: tuple[Often, ...]
    read: dict[str, int] | None
    rebalances: tuple[Rebalance, ...]
