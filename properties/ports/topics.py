"""The topics whose offsets tests commit: their names on a broker, and the missing ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlencode

from groupcheck.model.classic.instances.inputs import OTHER_TOPIC, TOPIC
from groupcheck.model.vocabulary import EndTxnRequest, OffsetDeleteRequest, Request

OF_TESTS: Final = (TOPIC, OTHER_TOPIC)
VALID: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # Topic.java:35 of Kafka 4.1

B = TypeVar("B")


class Topics(NamedTuple):
    """`names` maps each topic of a test to the broker's; a test cannot use the `missing` ones."""

    names: Mapping[str, str]
    missing: frozenset[str] = frozenset()

    def why_not(self, request: Request) -> str | None:
        """Return why a request is not sent: it needs a missing topic; None if it is sent."""
        body: Any = request.body
        named = {topic.name for topic in getattr(body, "topics", ()) or ()}
        # A marker is known to be processed when a commit after it is.
        needed = {TOPIC} if isinstance(body, EndTxnRequest) else named
        for name in sorted(needed & self.missing):
            topic = f"topic {self.names[name]!r}"
            return f"{request.api} ({topic} is not there and cannot be created; see ?topic=NAME)"
        if isinstance(body, OffsetDeleteRequest) and any(n != r for n, r in self.names.items()):
            return f"{request.api} (with ?topic=NAME)"  # members subscribe to the topics of tests
        return None

    def request(self, body: B) -> B:
        """Return a request with the broker's topics."""
        return _renamed(body, self.names)

    def response(self, body: B) -> B:
        """Return a response with the topics of the test."""
        return _renamed(body, {real: name for name, real in self.names.items()})


def find_topics(given: tuple[str, ...], create: Callable[[str], bool]) -> Topics:
    """Create the topics, and return them; the `given` ones replace those of tests."""
    others = (name for name in OF_TESTS[len(given) :] + OF_TESTS if name not in given)
    names = dict(zip(OF_TESTS, (*given, *others), strict=False))
    return Topics(names, frozenset(name for name, real in names.items() if not create(real)))


def parse_topics(query: str) -> tuple[tuple[str, ...], str]:
    """Split `topic=NAME` off the settings of a PORT; return the names, and the other settings.

    Raises:
        ValueError: a name is invalid, or there are too many; the caller adds the PORT.
    """
    pairs = parse_qsl(query, keep_blank_values=True)
    topics = tuple(value for name, value in pairs if name == "topic")
    invalid = next((name for name in topics if not VALID.fullmatch(name)), None)
    if invalid is not None:
        msg = f"{invalid!r} is not a valid name of a topic"
        raise ValueError(msg)
    if len(set(topics)) < len(topics) or len(topics) > len(OF_TESTS):
        msg = f"tests use at most {len(OF_TESTS)} different topics"
        raise ValueError(msg)
    return topics, urlencode([pair for pair in pairs if pair[0] != "topic"])


def _renamed(body: B, names: Mapping[str, str]) -> B:
    topics: Any = getattr(body, "topics", None)
    if not topics or all(names.get(topic.name, topic.name) == topic.name for topic in topics):
        return body
    new = tuple(topic._replace(name=names.get(topic.name, topic.name)) for topic in topics)
    record: Any = body
    renamed: B = record._replace(topics=new)
    return renamed
