"""Decodes records of `__consumer_offsets` to the JSON that Kafka 4 prints.

It reads all versions (`group-coordinator/src/main/resources/common/message/
{OffsetCommit,GroupMetadata}{Key,Value}.json` at 4.1). It ignores
tagged fields, and bytes after the last field. It does not use the decoder of the implementation, so
that no error is in both.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from struct import Struct
from struct import error as struct_error
from typing import Any, Final

Json = dict[str, Any]

SHORT, INT, LONG = Struct(">h"), Struct(">i"), Struct(">q")
OFFSET_KEYS: Final = (0, 1)
GROUP_KEY: Final = 2
NEWEST: Final = {"group metadata": 4, "offset commit": 4}
COMPACT: Final = 4  # from this version on: compact lengths, and tagged fields


NEW_GROUP_SINCE: Final = 3
NEW_GROUP: Final = "new group"  # of generation 0, which only newer coordinators store
# The versions of values that reveal the version of Kafka; the first match decides.
WRITTEN_BY: Final = (
    ("offset commit", 4, "4.1"),  # OffsetMetadataManager's, since KIP-848
    (NEW_GROUP, NEW_GROUP_SINCE, "4.1"),  # GroupMetadataManager.java:6194 at 4.1
    ("group metadata", 0, "0.10.0"),  # GroupMetadataManager.scala:736 at 0.10.0
    ("group metadata", 1, "0.10.2"),  # GroupMetadataManager.scala:790 at 0.10.2
)
DEFAULT_PROFILE: Final = "2.7"
MOST_EXAMINED: Final = 1_000  # records, to find the version that has written them


class UnreadableError(Exception):
    """The bytes are not a valid record."""


class OtherKindError(Exception):
    """A record of a group that is not of the classic protocol; `group` is its id."""

    def __init__(self, group: str, kind: int) -> None:
        super().__init__(f"a record of type {kind}, of another group protocol")
        self.group = group


class _Bytes:
    """Reads the fields of a record in order."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self.compact = False

    def number(self, form: Struct) -> int:
        value: int = form.unpack_from(self._data, self._at)[0]
        self._at += form.size
        return value

    def length(self, form: Struct = SHORT) -> int:
        """The length of the next field, -1 for null."""
        if not self.compact:
            return self.number(form)
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value - 1
            shift += 7

    def bytes(self, form: Struct = INT) -> bytes | None:
        size = self.length(form)
        if size < 0:
            return None
        data = self._data[self._at : self._at + size]
        if len(data) < size:
            msg = f"{size} bytes where {len(data)} remain"
            raise UnreadableError(msg)
        self._at += size
        return data

    def text(self) -> str | None:
        data = self.bytes(SHORT)
        return None if data is None else data.decode()

    def name(self) -> str:
        found = self.text()
        if found is None:
            msg = "null instead of a text"
            raise UnreadableError(msg)
        return found

    def base64(self) -> str:
        return base64.b64encode(self.bytes() or b"").decode()

    def skip_tagged(self) -> None:
        if self.compact:
            for _ in range(self.length() + 1):
                self.length()
                self._at += self.length() + 1


def decode(key: bytes | None, value: bytes | None) -> Json:
    """A record: `key` with `type` and `data`, and `value`, if any.

    Raises:
        UnreadableError: the bytes are not a valid record.
        OtherKindError: the group is not of the classic protocol.
    """
    if key is None:
        msg = "a record without a key"
        raise UnreadableError(msg)
    try:
        return _decode(_Bytes(key), value)
    except (struct_error, IndexError, UnicodeDecodeError) as error:
        msg = f"an incomplete record: {error}"
        raise UnreadableError(msg) from error


def _decode(key: _Bytes, value: bytes | None) -> Json:
    kind = key.number(SHORT)
    if kind in OFFSET_KEYS:
        data: Json = {"group": key.name(), "topic": key.name(), "partition": key.number(INT)}
        decoded = _value(value, "offset commit", _offset)
    elif kind == GROUP_KEY:
        data = {"group": key.name()}
        decoded = _value(value, "group metadata", _group)
    else:
        raise OtherKindError(key.name(), kind)
    return {"key": {"type": kind, "data": data}, "value": decoded}


def _value(value: bytes | None, what: str, read: Callable[[_Bytes, int], Json]) -> Json | None:
    if value is None:
        return None
    fields = _Bytes(value)
    version = fields.number(SHORT)
    if not 0 <= version <= NEWEST[what]:
        msg = f"{what} of the unknown version {version}"
        raise UnreadableError(msg)
    fields.compact = version >= COMPACT
    return {"version": version, "data": read(fields, version)}


def _offset(fields: _Bytes, version: int) -> Json:
    decoded: Json = {"offset": fields.number(LONG)}
    if version >= 3:
        decoded["leaderEpoch"] = fields.number(INT)
    decoded["metadata"] = fields.name()
    decoded["commitTimestamp"] = fields.number(LONG)
    if version == 1:
        decoded["expireTimestamp"] = fields.number(LONG)
    return decoded


def _group(fields: _Bytes, version: int) -> Json:
    decoded: Json = {
        "protocolType": fields.name(),
        "generation": fields.number(INT),
        "protocol": fields.text(),
        "leader": fields.text(),
    }
    if version >= 2:
        decoded["currentStateTimestamp"] = fields.number(LONG)
    decoded["members"] = [_member(fields, version) for _ in range(fields.length(INT))]
    return decoded


def _member(fields: _Bytes, version: int) -> Json:
    decoded: Json = {"memberId": fields.name()}
    if version >= 3:
        decoded["groupInstanceId"] = fields.text()
    decoded |= {"clientId": fields.name(), "clientHost": fields.name()}
    if version >= 1:
        decoded["rebalanceTimeout"] = fields.number(INT)
    decoded["sessionTimeout"] = fields.number(INT)
    decoded |= {"subscription": fields.base64(), "assignment": fields.base64()}
    fields.skip_tagged()
    return decoded


def profile_of(records: Iterable[tuple[bytes | None, bytes | None]]) -> str:
    """The profile of the version that wrote the records, if they reveal it."""
    seen = {found for key, value in records if (found := _written(key, value)) is not None}
    for what, version, profile in WRITTEN_BY:
        if (what, version) in seen:
            return profile
    return DEFAULT_PROFILE


def _written(key: bytes | None, value: bytes | None) -> tuple[str, int] | None:
    try:
        decoded = decode(key, value)
    except (UnreadableError, OtherKindError):
        return None
    if decoded["value"] is None:
        return None
    version = decoded["value"]["version"]
    if "topic" in decoded["key"]["data"]:
        return "offset commit", version
    new = version >= NEW_GROUP_SINCE and decoded["value"]["data"]["generation"] == 0
    return (NEW_GROUP if new else "group metadata"), version
