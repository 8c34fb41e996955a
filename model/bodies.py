"""The vocabulary as JSON bodies: Kafka's field names in camelCase, bytes in base64.

The form that the port protocol and the traces share. Encoding writes exactly the fields of the
version. Decoding accepts missing fields and rejects invalid values, with the path of the field.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from groupcheck.model import vocabulary as kafka
from groupcheck.model.versions import carries, trim
from groupcheck.model.vocabulary import ErrorCode, RequestBody, ResponseBody

Json = dict[str, Any]
Record = TypeVar("Record")

LONGEST_STRING = 2**15 - 1  # bytes of UTF-8: the length on the wire is an int16
# Numbers in a request have 32 bits, except these.
BITS = {
    "commitAgeMs": 64,
    "committedOffset": 64,
    "producerId": 64,
    "producerEpoch": 16,
    "retentionTimeMs": 64,
}


class MalformedBodyError(ValueError):
    """A body does not match the schema of its API and version."""


def camel(name: str) -> str:
    """`session_timeout_ms` as Kafka's definitions spell it: `sessionTimeoutMs`."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def encode(record: RequestBody | ResponseBody, api_version: int) -> Json:
    """The JSON body of a request or response at that version of its API."""
    if isinstance(record, kafka.LeaveGroupRequest) and api_version < 3:
        return {"groupId": record.group_id, "memberId": record.members[0].member_id}
    body: Json = _encode(trim(record, api_version), api_version)
    if isinstance(record, kafka.LeaveGroupResponse) and api_version < 3:
        del body["members"]
    return body


def decode_request(api: str, api_version: int, body: object) -> RequestBody:
    """The request of a JSON body.

    Raises:
        MalformedBodyError: the body does not fit the API at that version.
    """
    cls = kafka.REQUESTS[api]
    if cls is kafka.LeaveGroupRequest and api_version < 3 and isinstance(body, dict):
        member_id = _text(body.get("memberId"), f"{api}.memberId")
        body = {"groupId": body.get("groupId"), "members": [{"memberId": member_id}]}
    request: RequestBody = decode(cls, body, api)
    _check_sizes(request, api)
    if isinstance(request, kafka.OffsetFetchRequest) and api_version < 2 and request.topics is None:
        # OffsetFetchRequest.json, nullableVersions of Topics.
        msg = f"{api}.topics: it may be null only from version 2 on"
        raise MalformedBodyError(msg)
    return trim(request, api_version)


def decode_response(api: str, api_version: int, body: object) -> ResponseBody:
    """The response of a JSON body; fields that the version lacks have their defaults.

    Raises:
        MalformedBodyError: the body does not fit the API.
    """
    return trim(decode(kafka.RESPONSES[api], body, api), api_version)


def encode_record(record: Any) -> Json:
    """Any record of the vocabulary, all its fields."""
    encoded: Json = _encode(record, None)
    return encoded


def _encode(value: Any, api_version: int | None) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if hasattr(value, "_fields"):
        return {
            camel(name): _encode(item, api_version)
            for name, item in zip(value._fields, value, strict=True)
            if api_version is None or carries(type(value), name, api_version)
        }
    if isinstance(value, tuple):
        return [_encode(item, api_version) for item in value]
    return int(value) if isinstance(value, ErrorCode) else value


def decode(cls: type[Record], body: object, path: str) -> Record:
    """A record of `cls` from a JSON object; `path` names it in errors.

    Raises:
        MalformedBodyError: with the path of the field that does not fit.
    """
    hint: Any = cls
    record: Record = _decoder(hint)(body, path)
    return record


def check_string(value: object, path: str) -> str:
    """A string that fits into a request on Kafka's wire.

    Raises:
        MalformedBodyError: it is none.
    """
    text = _text(value, path)
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise _refuse(path, "a string that can be encoded in UTF-8", value) from error
    if size > LONGEST_STRING:
        raise _refuse(path, f"at most {LONGEST_STRING} bytes", value)
    return text


def check_integer(value: object, path: str, bits: int = 32) -> int:
    """An integer of at most `bits` bits, sign included.

    Raises:
        MalformedBodyError: it is none.
    """
    number = _integer(value, path)
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise _refuse(path, f"an integer of {bits} bits", value)
    return number


def _check_sizes(value: Any, path: str) -> None:
    """Reject numbers and strings that are too large for their fields."""
    if isinstance(value, str):
        check_string(value, path)
    elif isinstance(value, int) and not isinstance(value, bool):
        check_integer(value, path, BITS.get(path.rpartition(".")[2], 32))
    elif hasattr(value, "_fields"):
        for name, item in zip(value._fields, value, strict=True):
            _check_sizes(item, f"{path}.{camel(name)}")
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            _check_sizes(item, f"{path}[{i}]")


def shown(value: object) -> str:
    """A value in an error message: one short line."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _refuse(path: str, expected: str, value: object) -> MalformedBodyError:
    return MalformedBodyError(f"{path}: expected {expected}, got {shown(value)}")


def _text(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise _refuse(path, "a string", value)
    return value


def _integer(value: object, path: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _refuse(path, "an integer", value)
    return value


def _boolean(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        raise _refuse(path, "true or false", value)
    return value


def _binary(value: object, path: str) -> bytes:
    try:
        return base64.b64decode(_text(value, path), validate=True)
    except (binascii.Error, ValueError) as error:
        raise _refuse(path, "standard base64", value) from error


def _error_code(value: object, path: str) -> ErrorCode:
    return ErrorCode(_integer(value, path))


_SCALARS: dict[object, Callable[[object, str], Any]] = {
    str: _text,
    int: _integer,
    bool: _boolean,
    bytes: _binary,
    ErrorCode: _error_code,
}


@cache
def _decoder(hint: Any) -> Callable[[object, str], Any]:
    """The function that converts a JSON value to a field's type."""
    if hint in _SCALARS:
        return _SCALARS[hint]
    if isinstance(hint, UnionType):
        (kept,) = (arg for arg in get_args(hint) if arg is not NoneType)
        decode_kept = _decoder(kept)
        return lambda value, path: None if value is None else decode_kept(value, path)
    if get_origin(hint) is tuple:
        decode_item = _decoder(get_args(hint)[0])

        def decode_list(value: object, path: str) -> tuple[Any, ...]:
            if not isinstance(value, list | tuple):
                raise _refuse(path, "a list", value)
            return tuple(decode_item(item, f"{path}[{i}]") for i, item in enumerate(value))

        return decode_list
    return _record_decoder(hint)


def _record_decoder(cls: Any) -> Callable[[object, str], Any]:
    fields = [(n, camel(n), _decoder(h)) for n, h in get_type_hints(cls).items()]
    optional = set(cls._field_defaults)
    nullable = {n for n, h in get_type_hints(cls).items() if isinstance(h, UnionType)}

    def decode_record(value: object, path: str) -> Any:
        if not isinstance(value, dict):
            raise _refuse(path, "an object", value)
        found = {}
        for name, key, decode_field in fields:
            if key in value and not (value[key] is None and name not in nullable):
                found[name] = decode_field(value[key], f"{path}.{key}")
            elif name in nullable and name not in optional:
                found[name] = None
            elif name not in optional:
                raise _refuse(path, f"a field {key!r}", value)
        return cls(**found)

    return decode_record
