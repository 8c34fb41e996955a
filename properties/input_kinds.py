"""The kinds of inputs that a port supports as a whole, and the features that they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.model.classic.state import Advance
from groupcheck.model.classic.transition import Input
from groupcheck.model.versions import oldest_version
from groupcheck.model.vocabulary import LeaveGroupRequest, Request
from groupcheck.properties.sequence import fault_of

# The optional features that are APIs, by Kafka's names; every coordinator has the other APIs.
API_FEATURES: Final[Mapping[str, Feature]] = {
    "OffsetCommit": Feature.OFFSETS,
    "OffsetFetch": Feature.OFFSETS,
    "TxnOffsetCommit": Feature.TRANSACTIONS,
    "EndTxn": Feature.TRANSACTIONS,
    "ListGroups": Feature.ADMINISTRATION,
    "DeleteGroups": Feature.ADMINISTRATION,
    "OffsetDelete": Feature.ADMINISTRATION,
}

# The faults by the feature that they need, with the port protocol's names.
FAULTS_OF: Final[Mapping[Feature, tuple[str, ...]]] = {
    Feature.HELD_APPENDS: ("holdAppends", "releaseAppends"),
    Feature.EXPIRY: ("cleanup",),
    Feature.FAILING_APPENDS: ("append",),
    Feature.FAILOVER: ("unload", "loading", "load", "shutdown"),
    Feature.CRASHES: ("crash",),
    Feature.MAX_SIZE: ("configure",),
}
FAULT_FEATURES: Final = {name: f for f, names in FAULTS_OF.items() for name in names}


def kind_of(given: Input) -> tuple[object, ...]:
    """The kind of an input: a port supports all of a kind, or none.

    A request's kind is its API, the version, whether a static member sends it, and the oldest
    version that can express it; that of another input is its type.
    """
    if isinstance(given, Request):
        oldest = oldest_version(given.body)
        return (given.api, given.api_version, names_static_member(given), oldest)
    return (type(given),)


def names_static_member(request: Request) -> bool:
    """Whether a request names a static member."""
    body = request.body
    if isinstance(body, LeaveGroupRequest):
        return any(member.group_instance_id is not None for member in body.members)
    return getattr(body, "group_instance_id", None) is not None


def features_of(given: Input) -> frozenset[Feature]:
    """The optional features that an input belongs to."""
    if isinstance(given, Advance):
        return frozenset()
    if not isinstance(given, Request):
        return frozenset({FAULT_FEATURES[fault_of(given).name]})
    static = {Feature.STATIC_MEMBERS} if names_static_member(given) else set[Feature]()
    return frozenset({*static, *filter(None, [API_FEATURES.get(given.api)])})
