"""Bodies decoded once for all that are alike: in peace members say the same again and again.

Commits are alike whatever the offsets are that they commit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from groupcheck.model.bodies import decode_request, decode_response
from groupcheck.model.vocabulary import RequestBody, ResponseBody
from groupcheck.properties.histories.one_group import parts
from groupcheck.properties.sequence import outside_the_model

KEPT: Final = 32_768
LONGEST: Final = 1_000  # characters: those that come again are short
COMMIT: Final = "OffsetCommit"
# An offset in a commit, as it is mostly written: of no more than 64 bits, and not negative.
OFFSET: Final = re.compile(r'"committedOffset":(0|[1-9]\d{0,17})(?=[,}])')


def request_body(api: str, version: int, text: str) -> RequestBody:
    """The request in a body's JSON.

    Raises:
        MalformedBodyError: it does not fit the API at that version.
    """
    return (_request if len(text) <= LONGEST else _request.__wrapped__)(api, version, text)


def response_body(api: str, version: int, text: str) -> ResponseBody:
    """The response in a body's JSON.

    Raises:
        MalformedBodyError: it does not fit the API.
    """
    return (_response if len(text) <= LONGEST else _response.__wrapped__)(api, version, text)


def asked(
    api: str, version: int, text: str, known: Iterable[str]
) -> tuple[tuple[str, str | None], ...]:
    """The groups that a request is about, and of each what of it is outside the model, if it is.

    Raises:
        MalformedBodyError: the body does not fit the API at that version.
    """
    if api == "ListGroups":  # of all that are known
        return _about(request_body(api, version, text), known)
    if api == COMMIT:
        text = OFFSET.sub('"committedOffset":0', text)
    return (_asked if len(text) <= LONGEST else _asked.__wrapped__)(api, version, text)


def _about(body: RequestBody, known: Iterable[str]) -> tuple[tuple[str, str | None], ...]:
    return tuple((name, outside_the_model(part)) for name, part in parts(body, known).items())


@lru_cache(KEPT)
def _asked(api: str, version: int, text: str) -> tuple[tuple[str, str | None], ...]:
    return _about(decode_request(api, version, json.loads(text)), ())


@lru_cache(KEPT)
def _request(api: str, version: int, text: str) -> RequestBody:
    return decode_request(api, version, json.loads(text))


@lru_cache(KEPT)
def _response(api: str, version: int, text: str) -> ResponseBody:
    return decode_response(api, version, json.loads(text))
