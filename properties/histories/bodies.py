"""Decodes bodies with a cache: the members of a group send the same bodies again and again.

Two commits have the same cache entry if only the committed offsets differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final, TypeVar

from groupcheck.model.bodies import decode_request, decode_response
from groupcheck.model.vocabulary import RequestBody, ResponseBody
from groupcheck.properties.histories.one_group import parts
from groupcheck.properties.sequence import outside_the_model

ENTRIES: Final = 32_768
LONGEST: Final = 1_000  # characters: bodies that repeat are short
COMMIT: Final = "OffsetCommit"
# A committed offset as clients usually write it: at most 64 bits, and not negative.
OFFSET: Final = re.compile(r'"committedOffset":(0|[1-9]\d{0,17})(?=[,}])')
T = TypeVar("T")


def _cached(decode: Callable[[str, int, Any], T]) -> Callable[[str, int, str], T]:
    """A function that decodes a body's JSON; it caches short bodies."""

    def parse(api: str, version: int, text: str) -> T:
        return decode(api, version, json.loads(text))

    cached = lru_cache(ENTRIES)(parse)

    def body(api: str, version: int, text: str) -> T:
        return (cached if len(text) <= LONGEST else parse)(api, version, text)

    return body


# Both raise MalformedBodyError if the body does not fit the API at that version.
request_body: Final[Callable[[str, int, str], RequestBody]] = _cached(decode_request)
response_body: Final[Callable[[str, int, str], ResponseBody]] = _cached(decode_response)

Groups = tuple[tuple[str, str | None], ...]


def _groups(body: RequestBody, known: Iterable[str]) -> Groups:
    return tuple((name, outside_the_model(part)) for name, part in parts(body, known).items())


_groups_named = _cached(lambda *body: _groups(decode_request(*body), ()))


def groups_of(api: str, version: int, text: str, known: Iterable[str]) -> Groups:
    """The groups that a request is about, each with what the model does not cover, if anything.

    Raises:
        MalformedBodyError: the body does not fit the API at that version.
    """
    if api == "ListGroups":  # about all groups that are known
        return _groups(request_body(api, version, text), known)
    if api == COMMIT:
        text = OFFSET.sub('"committedOffset":0', text)
    return _groups_named(api, version, text)
