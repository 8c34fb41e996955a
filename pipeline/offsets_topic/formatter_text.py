"""Reads the text that Kafka's console formatters print of the offsets topic.

Up to 3.x a record is a line of text; from 4.0 on it is JSON, without a separator between records
(tools/.../consumer/ApiMessageFormatter.java). A formatter prints either the commits
(`OffsetsMessageFormatter`) or the groups (`GroupMetadataMessageFormatter`), without the offsets
of the records and without transactions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from groupcheck.pipeline.offsets_topic.group_records import Json
from groupcheck.pipeline.offsets_topic.partition_reader import RecordEvents
from groupcheck.pipeline.sources import MOST_TEXT, Read, file_row, quarantined
from groupcheck.properties.histories.lines import Line, RejectedLineError

OF_JSON: Final = '{"key":'
BETWEEN: Final = b'}{"key":'
GROUPS, COMMITS = ["group", "group removed"], ["offset", "offset removed"]

COMMIT_BEGINS: Final = re.compile(r"\[.*,\d+\]::(OffsetAndMetadata\(|\[OffsetMetadata\[)")
# kafka.coordinator.group.GroupMetadataManager at 2.7.2; the last is OffsetAndMetadata at 0.10.2.
COMMIT: Final = re.compile(r"\[(?P<group>.*),(?P<topic>[^,]*),(?P<partition>\d+)\]::(?P<value>.*)")
GROUP: Final = re.compile(
    r"(?P<group>.*?)::(?:NULL|GroupMetadata\(groupId=.*?, generation=(?P<generation>-?\d+), "
    r"protocolType=(?:Some\((?P<type>.*?)\)|None), currentState=\w+, members=(?P<members>.*)\))"
)
MEMBER: Final = re.compile(
    r"MemberMetadata\(memberId=(?P<memberId>.*?), groupInstanceId=(?P<instance>.*?), "
    r"clientId=(?P<clientId>.*?), clientHost=(?P<clientHost>.*?), "
    r"sessionTimeoutMs=(?P<sessionTimeout>\d+), rebalanceTimeoutMs=(?P<rebalanceTimeout>\d+)"
)
VALUES: Final = (
    re.compile(
        r"OffsetAndMetadata\(offset=(?P<offset>-?\d+), leaderEpoch=.*?, metadata=(?P<metadata>.*), "
        r"commitTimestamp=(?P<at>-?\d+), expireTimestamp=.*\)"
    ),
    re.compile(
        r"\[OffsetMetadata\[(?P<offset>-?\d+),(?P<metadata>.*)\],CommitTime (?P<at>-?\d+),"
        r"ExpirationTime -?\d+\]"
    ),
)


def is_formatted(first: Line | None) -> bool:
    """Whether a file with this first line is the text of a formatter."""
    if first is None or first.data is None:
        return False
    text = first.data[:MOST_TEXT].decode(errors="replace").rstrip()
    known = text.startswith(OF_JSON) or "::GroupMetadata(" in text or text.endswith("::NULL")
    return known or COMMIT_BEGINS.match(text) is not None


def records(lines: Iterable[Line]) -> Iterator[Line]:
    """The records of the text, numbered; a line of JSON may have several."""
    number = 0
    for line in lines:
        data = (line.data or b"").rstrip(b"\n")
        separated = data.replace(BETWEEN, b"}\n" + BETWEEN[1:])
        for record in [data] if line.reason else separated.split(b"\n"):
            number += 1
            yield Line(number, record, None, line.reason)


class FormatterReader:
    """Reads one file."""

    def __init__(self, source: str, first: Line) -> None:
        self._source = source
        text = (first.data or b"")[:MOST_TEXT].decode(errors="replace")
        is_json = text.startswith(OF_JSON)
        commits = '"topic":' in text.partition("}")[0] if is_json else text.startswith("[")
        profile = "4.1" if is_json else "0.10.2" if "::[OffsetMetadata[" in text else "2.7"
        kinds = COMMITS if commits else GROUPS
        self._events = RecordEvents(source, profile, complete=False, kinds=kinds)

    def rows(self, lines: Iterable[Line]) -> Read:
        """Each row with the name of its table."""
        read = kept = 0
        for line in records(lines):
            read += 1
            try:
                decoded = _record(line)
            except RejectedLineError as error:
                self._events.gap(f"record {line.number}: {error}")
                yield "quarantined", quarantined(self._source, line, str(error))
                continue
            kept += 1
            at = ((decoded["value"] or {}).get("data") or {}).get("commitTimestamp")
            self._events.time(at)
            group = decoded["key"]["data"]["group"]
            for row in self._events.take(group, line.number, decoded):
                yield "event", row
        yield file_row(self._source, kept, read - kept, self._events.count)


def _record(line: Line) -> Json:
    if line.reason:
        raise RejectedLineError(line.reason)
    try:
        text = (line.data or b"").decode().rstrip("\r")
    except UnicodeDecodeError as error:
        reason = "not text in UTF-8"
        raise RejectedLineError(reason) from error
    if text.startswith(OF_JSON):
        return _of_json(text)
    if (commit := COMMIT.fullmatch(text)) is not None:
        return _commit(commit)
    if (group := GROUP.fullmatch(text)) is not None:
        return _group(group)
    reason = "not a line of Kafka's formatters"
    raise RejectedLineError(reason)


def _of_json(text: str) -> Json:
    reason = "not the JSON of a record of Kafka's formatters"
    try:
        decoded: Json = json.loads(text)
        key, value = decoded["key"]["data"], decoded["value"]
        data = {} if value is None else value["data"]
        names = {"topic", "partition"} if "topic" in key else set()
        known = isinstance(key["group"], str) and names <= key.keys()
        wanted = {"offset"} if names else {"generation", "members"}
        if known and (value is None or wanted <= data.keys()):
            return decoded
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RejectedLineError(reason) from error
    raise RejectedLineError(reason)


def _commit(found: re.Match[str]) -> Json:
    where = {name: found[name] for name in ("group", "topic")}
    key = {"type": 1, "data": {**where, "partition": int(found["partition"])}}
    if found["value"] == "NULL":
        return {"key": key, "value": None}
    value = next((v for form in VALUES if (v := form.fullmatch(found["value"]))), None)
    if value is None:
        reason = "not an offset of Kafka's formatters"
        raise RejectedLineError(reason)
    decoded = {
        "offset": int(value["offset"]),
        "metadata": value["metadata"],
        "commitTimestamp": int(value["at"]),
    }
    return {"key": key, "value": {"version": None, "data": decoded}}


def _group(found: re.Match[str]) -> Json:
    key = {"type": 2, "data": {"group": found["group"]}}
    if found["generation"] is None:
        return {"key": key, "value": None}
    members = [_member(each) for each in MEMBER.finditer(found["members"])]
    decoded = {
        "protocolType": found["type"],
        "generation": int(found["generation"]),
        "members": members,
    }
    return {"key": key, "value": {"version": None, "data": decoded}}


def _member(found: re.Match[str]) -> Json:
    instance = found["instance"].removeprefix("Some(").removesuffix(")")
    return {
        "memberId": found["memberId"],
        "groupInstanceId": None if instance in {"None", "null"} else instance,
        "clientId": found["clientId"],
        "clientHost": found["clientHost"],
        "rebalanceTimeout": int(found["rebalanceTimeout"]),
        "sessionTimeout": int(found["sessionTimeout"]),
    }
