"""Bodies decoded once for all that are alike: in peace members say the same again and again."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final

from groupcheck.model.bodies import decode_request, decode_response
from groupcheck.model.vocabulary import RequestBody, ResponseBody

KEPT: Final = 8_192
LONGEST: Final = 1_000  # characters: those that come again are short


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


@lru_cache(KEPT)
def _request(api: str, version: int, text: str) -> RequestBody:
    return decode_request(api, version, json.loads(text))


@lru_cache(KEPT)
def _response(api: str, version: int, text: str) -> ResponseBody:
    return decode_response(api, version, json.loads(text))
