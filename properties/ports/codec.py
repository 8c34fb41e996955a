"""The vocabulary on Kafka's wire: records to bytes and back, with kafka-python's message classes.

It maps fields of records to fields of messages; kafka-python encodes them. Sockets and the meaning
of responses do not belong here. kafka-python, an extra, is imported when it is first needed.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, TypeVar, get_type_hints

from groupcheck.extras import needing
from groupcheck.model.versions import oldest_version, record_in, trim
from groupcheck.model.vocabulary import (
    API_OF,
    RESPONSES,
    ErrorCode,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    RequestBody,
    ResponseBody,
)
from groupcheck.properties.ports.port import PortUnavailableError

Record = TypeVar("Record", bound=RequestBody | ResponseBody)
Message = Any  # kafka-python comes without types: its messages, their classes and fields
Nested = Any  # any record of the vocabulary, or its class

_IMPORTING: Final = threading.Lock()

# The newest versions whose messages have the fields of the vocabulary's records: OffsetFetch 8
# names several groups, and OffsetCommit 10 topic ids.
NEWEST_VERSIONS: Final = {
    "JoinGroup": 9,
    "SyncGroup": 5,
    "Heartbeat": 4,
    "LeaveGroup": 5,
    "OffsetCommit": 9,
    "OffsetFetch": 7,
    "DescribeGroups": 6,
    "ListGroups": 5,
    "DeleteGroups": 2,
    "OffsetDelete": 0,
    "TxnOffsetCommit": 5,
}

# Where kafka-python's name of a field (from newer definitions) is not the vocabulary's.
_RENAMED: Final[dict[type, dict[str, str]]] = {
    OffsetCommitRequest: {"generation_id": "generation_id_or_member_epoch"},
    OffsetCommitRequestPartition: {"commit_age_ms": "commit_timestamp"},
}
_NO_TIME: Final = -1  # OffsetCommitRequest.java, DEFAULT_TIMESTAMP


class MalformedAnswerError(ValueError):
    """A response does not match the schema of its API and version."""


class InexpressibleError(ValueError):
    """A version of an API cannot express a request."""


@contextmanager
def importing_kafka_python() -> Iterator[None]:
    """Import kafka-python, an extra, in the body.

    Raises:
        PortUnavailableError: it is not installed.
    """
    try:
        # On some Pythons importing kafka-python emits DeprecationWarnings, which `-W error` turns
        # into errors. The filters are global, hence the lock.
        with _IMPORTING, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    except ImportError as error:
        raise PortUnavailableError(needing("kafka-python", "wire")) from error


@cache
def _modules() -> tuple[Any, ...]:
    with importing_kafka_python():
        from kafka.protocol import admin, consumer, metadata, producer  # noqa: PLC0415 (an extra)
    return consumer, admin, metadata, producer


@cache
def message_class(name: str) -> Message:
    """Return kafka-python's class of a message, such as `JoinGroupRequest`.

    Raises:
        PortUnavailableError: kafka-python is not installed.
    """
    return next(getattr(module, name) for module in _modules() if hasattr(module, name))


def frame(message: Message, correlation_id: int, client_id: str) -> bytes:
    """Return a request with its length and header."""
    message.with_header(correlation_id=correlation_id, client_id=client_id)
    framed: bytes = message.encode(header=True, framed=True)
    return framed


def parse(api: str, api_version: int, answer: bytes) -> Message:
    """Return the message of a response, given without its length.

    Raises:
        MalformedAnswerError: it cannot be decoded, or is too short or too long.
    """
    cls = message_class(f"{api}Response")
    try:
        message = cls.decode(answer, version=api_version, header=True)
        again = message.encode(header=True)
    except Exception as error:  # generated code may raise anything on invalid input
        msg = f"a response that cannot be decoded as {api} version {api_version}: {error}"
        raise MalformedAnswerError(msg) from error
    # The decoder accepts a last string that is too short, and bytes after it.
    # Flexible versions may have more bytes: tagged fields that newer definitions add.
    tagged = cls.flexible_version_q(api_version) and len(answer) > len(again)
    if again != answer and not tagged:
        msg = f"a response of {len(answer)} bytes that is not {api} version {api_version}"
        raise MalformedAnswerError(msg)
    return message


def to_message(
    record: RequestBody | ResponseBody, api_version: int, now_ms: int | None = None
) -> Message:
    """Return the message of a record at a version.

    Args:
        record: of the vocabulary.
        api_version: the version of the message.
        now_ms: the time that ages are counted from; without it, this machine's.

    Raises:
        InexpressibleError: the version cannot express the record.
    """
    if api_version < oldest_version(record):
        what = "OffsetFetch of every partition"
        if isinstance(record, LeaveGroupRequest):
            what = f"LeaveGroup of {len(record.members)} members"
        msg = f"{what} at version {api_version}"
        raise InexpressibleError(msg)
    cls = message_class(type(record).__name__)
    if isinstance(record, LeaveGroupRequest) and api_version < 3:
        member_id = record.members[0].member_id
        return cls(version=api_version, group_id=record.group_id, member_id=member_id)
    record = trim(record, api_version)
    if isinstance(record, OffsetCommitRequest):
        record = _each_commit_time(record, _time_of, _now_ms() if now_ms is None else now_ms)
    return cls(version=api_version, **_values(cls.fields, record))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _each_commit_time(
    record: OffsetCommitRequest, convert: Callable[[int, int], int], now_ms: int
) -> OffsetCommitRequest:
    """The request with Kafka's commit times in place of ages, or the other way round."""
    topics = tuple(
        topic._replace(
            partitions=tuple(
                partition._replace(commit_age_ms=convert(partition.commit_age_ms, now_ms))
                for partition in topic.partitions
            )
        )
        for topic in record.topics
    )
    return record._replace(topics=topics)


def _time_of(age_ms: int, now_ms: int) -> int:
    time_ms = now_ms - age_ms
    if age_ms and (time_ms == _NO_TIME or not -(2**63) <= time_ms < 2**63):
        msg = f"a commit of the time {time_ms} ms"
        raise InexpressibleError(msg)
    return time_ms if age_ms else _NO_TIME


def _age_of(time_ms: int, now_ms: int) -> int:
    return 0 if time_ms == _NO_TIME else now_ms - time_ms


def _values(fields: Message, record: Nested) -> dict[str, Any]:
    values = {}
    renamed = _RENAMED.get(type(record), {})
    for name, value in zip(record._fields, record, strict=True):
        field = fields[renamed.get(name, name)]
        if isinstance(value, tuple):
            nested = field.is_struct_array()
            value = [field(**_values(field.fields, v)) if nested else v for v in value]  # noqa: PLW2901 (the same value, as the message has it)
        values[field.name] = value
    return values


def to_record(
    cls: type[Record],
    message: Message,
    api_version: int,
    *,
    null_as_empty: bool = False,
    now_ms: int | None = None,
) -> Record:
    """Return the record of a message; fields that its version lacks have the default value.

    Args:
        cls: the class of the record, named like the message.
        message: as kafka-python decoded it.
        api_version: the version of the message.
        null_as_empty: whether to read null as empty where Kafka's definitions do not allow null,
            as clients other than Kafka's do.
        now_ms: the time that ages are counted from; without it, this machine's.

    Raises:
        MalformedAnswerError: a field is null that must not be.
    """
    values = _fields(
        cls, message_class(cls.__name__).fields, message, api_version, null_as_empty=null_as_empty
    )
    if cls is LeaveGroupRequest and api_version < 3:
        values["members"] = (MemberIdentity(message.member_id),)
    record: Nested = cls(**values)
    if isinstance(record, OffsetCommitRequest):
        record = _each_commit_time(record, _age_of, _now_ms() if now_ms is None else now_ms)
    trimmed: Record = trim(record, api_version)
    return trimmed


def _fields(
    cls: Nested, fields: Message, message: Message, api_version: int, *, null_as_empty: bool
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    renamed = _RENAMED.get(cls, {})
    for name, hint, nested in _hints(cls):
        field = fields[renamed.get(name, name)]
        value = getattr(message, field.name)
        if value is None and _must_not_be_null(field, api_version):
            if not null_as_empty:
                api = API_OF.get(cls, cls.__name__)
                msg = f"a response whose {name} ({api} version {api_version}) is null"
                raise MalformedAnswerError(msg)
            value = field.default
        if nested is not None and value is not None:
            inner = (
                _fields(nested, field.fields, v, api_version, null_as_empty=null_as_empty)
                for v in value
            )
            value = tuple(nested(**v) for v in inner)
        elif isinstance(value, list):
            value = tuple(value)
        values[name] = ErrorCode(value) if hint is ErrorCode else value
    return values


def _must_not_be_null(field: Message, api_version: int) -> bool:
    return field.for_version_q(api_version) and not field.nullable_for_version_q(api_version)


@cache
def _hints(cls: Nested) -> tuple[tuple[str, Any, Any], ...]:
    """Return each field of a record: its name, its type, and the record it is a list of, if any."""
    return tuple((name, hint, record_in(hint)) for name, hint in get_type_hints(cls).items())


def answer_body(api: str, api_version: int, answer: bytes, *, null_as_empty: bool) -> ResponseBody:
    """Return the vocabulary's record of a response, given without its length.

    Raises:
        MalformedAnswerError: it does not match the schema of its API and version.
    """
    message = parse(api, api_version, answer)
    return to_record(RESPONSES[api], message, api_version, null_as_empty=null_as_empty)
