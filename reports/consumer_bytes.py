"""The bytes of the consumer protocol as text: what members subscribe to, and their assignments.

kafka-python reads them. Without it, and for other bytes, the text is the bytes themselves.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from groupcheck.properties.ports.port import PortUnavailableError
from groupcheck.reports.formatting import counted, value, word

MOST: Final = 20  # partitions or topics that are listed
# A version from 0 to 3, and the number of topics.
SHORTEST: Final = 6
VERSIONS: Final = range(4)


def metadata_text(data: bytes) -> str:
    """A member's metadata: its subscription, or the bytes."""
    return (_looks_like_one(data) and _subscription(data)) or value(data)


def assignment_text(data: bytes) -> str:
    """A member's assignment: its partitions, or the bytes."""
    return (_looks_like_one(data) and _assignment(data)) or value(data)


def _looks_like_one(data: bytes) -> bool:
    """Whether the bytes may be of the consumer protocol: its decoders are imported only then."""
    return len(data) >= SHORTEST and int.from_bytes(data[:2], "big") in VERSIONS


@lru_cache(maxsize=1_000)
def _subscription(data: bytes) -> str:
    from groupcheck.properties.assignors import consumer_protocol  # noqa: PLC0415 (see above)

    try:
        found = consumer_protocol.decoded_subscription(data)
    except PortUnavailableError:
        return ""
    if found is None:
        return ""
    parts = [f"subscription v{found.version} to {_listed(found.topics)}"]
    if found.owned:
        parts.append(f"owns {_listed(found.owned)}")
    if found.generation >= 0:
        parts.append(f"in generation {found.generation}")
    if found.rack is not None:
        parts.append(f"in rack {word(found.rack)}")
    if found.user_data:
        parts.append(f"with {counted(len(found.user_data), 'byte')} of user data")
    return f"({', '.join(parts)})"


@lru_cache(maxsize=1_000)
def _assignment(data: bytes) -> str:
    from groupcheck.properties.assignors import consumer_protocol  # noqa: PLC0415 (see above)

    try:
        return f"({_listed(consumer_protocol.decoded_assignment(data))})"
    except (consumer_protocol.MalformedAssignmentError, PortUnavailableError):
        return ""


def _listed(items: tuple[object, ...]) -> str:
    shown = " ".join(word(str(each)) for each in items[:MOST]) or "nothing"
    more = len(items) - MOST
    return f"{shown} and {more:,} more" if more > 0 else shown
