"""Edits of Kafka's rules: every single edit of a version, and edits as JSON."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, get_type_hints

from groupcheck.model.bodies import (
    Json,
    MalformedBodyError,
    check_integer,
    decode,
    encode_record,
    shown,
)
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.step import Profile
from groupcheck.model.engine.edits import (
    ANY,
    AddEffect,
    ChangeAnswer,
    DropEffect,
    DropGuard,
    DropRule,
    Edit,
    Exchange,
    FirstNumber,
    FromVersion,
    Instead,
    InsteadOf,
    OnlyAnswer,
    RequireGuard,
    SetBehaviour,
    Sometimes,
    UnknownPartError,
    single_edits,
)
from groupcheck.model.engine.rules import Version, VersionRule
from groupcheck.model.versions import record_in
from groupcheck.model.vocabulary import RESPONSES, ErrorCode

_ERROR: Final = re.compile(r"\banswer ([A-Z]+(?:_[A-Z]+)*)\b")
OTHER_ERRORS: Final = 2  # that replace the error of a rule
_ANYTHING: Final = {"any": True}
_INSTEAD_OF: Final = frozenset({"value", "instead of"})

KINDS: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {
        "drop-rule": DropRule,
        "drop-guard": DropGuard,
        "require-guard": RequireGuard,
        "drop-effect": DropEffect,
        "add-effect": AddEffect,
        "exchange": Exchange,
        "from-version": FromVersion,
        "instead": Instead,
        "only-answer": OnlyAnswer,
        "change-answer": ChangeAnswer,
        "set-behaviour": SetBehaviour,
        "sometimes": Sometimes,
        "first-number": FirstNumber,
    }
)
_NAMES: Final = {kind: name for name, kind in KINDS.items()}


class MalformedEditError(ValueError):
    """A JSON value is not an edit, or not one of that version."""


def edits_of(profile: Profile) -> Iterator[Edit]:
    """Every single edit of a profile's rules, each once, in a fixed order.

    A rule that answers an error also gets edits with the next errors of its table.
    """
    others = [each.version for each in PROFILES.values() if each.name != profile.name]
    yield from single_edits(profile.version, others)
    for table in profile.version.tables.values():
        errors = list(dict.fromkeys(error for rule in table if (error := error_of(rule))))
        for rule in table:
            if own := error_of(rule):
                at = errors.index(own)
                for error in islice((*errors[at + 1 :], *errors[:at]), OTHER_ERRORS):
                    yield ChangeAnswer(rule.id, (("error_code", ErrorCode[error]),))


def error_of(rule: VersionRule) -> str | None:
    """The name of the error that a rule answers, which may be NONE; None if it answers none."""
    for effect in rule.effects:
        found = _ERROR.search(effect.words)
        if found is not None and found[1] in ErrorCode.__members__:
            return found[1]
    return None


def as_json(edit: Edit) -> Json:
    """The JSON form of an edit of one of the `KINDS`.

    Raises:
        KeyError: it is of another kind.
    """
    name = _NAMES[type(edit)]
    parts = zip(edit._fields, edit, strict=True)
    values: Json = {field: each for field, each in parts if not _is_usual(edit, field)}
    if isinstance(edit, FromVersion):
        values["other"] = edit.other.name
    elif isinstance(edit, Sometimes):
        values["of"] = as_json(edit.of)
    elif isinstance(edit, ChangeAnswer | OnlyAnswer):
        values["fields"] = {field: _value_as_json(value) for field, value in edit.fields}
    return {"edit": name, **values}


def from_json(data: object, version: Version) -> Edit:
    """The edit of a version in a JSON value.

    Raises:
        MalformedEditError: it is no edit, or names a part that the version does not have.
    """
    kind = KINDS.get(str(data.get("edit"))) if isinstance(data, dict) else None
    if kind is None or not isinstance(data, dict):
        msg = f"expected an edit ({', '.join(KINDS)}), got {shown(data)}"
        raise MalformedEditError(msg)
    fields = {"edit", *kind._fields}
    if not fields - kind._field_defaults.keys() <= data.keys() <= fields:
        msg = f"{data['edit']}: expected the fields {', '.join(kind._fields)}, got {shown(data)}"
        raise MalformedEditError(msg)
    if kind is Sometimes:
        of = from_json(data["of"], version)
        if isinstance(of, DropRule | DropGuard | DropEffect):
            return Sometimes(of)
        msg = f"sometimes: expected an edit that drops something, got {shown(data['of'])}"
        raise MalformedEditError(msg)
    edit: Edit = kind(
        **{
            name: _FIELDS.get(name, _name)(data[name], name)
            for name in kind._fields
            if name in data
        }
    )
    try:
        edit(version)
    except UnknownPartError as unknown:
        raise MalformedEditError(*unknown.args) from unknown
    return edit


def _is_usual(edit: Edit, field: str) -> bool:
    """Whether a field that may be left out has its default."""
    default: Any = edit._field_defaults.get(field)
    return default is not None and getattr(edit, field) == default


def _name(value: object, path: str) -> str:
    if not isinstance(value, str):
        msg = f"{path}: expected a string, got {shown(value)}"
        raise MalformedEditError(msg)
    return value


def _number(value: object, path: str) -> int:
    try:
        return check_integer(value, path)
    except MalformedBodyError as error:
        raise MalformedEditError(*error.args) from error


def _truth(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        msg = f"{path}: expected true or false, got {shown(value)}"
        raise MalformedEditError(msg)
    return value


def _version(value: object, path: str) -> Version:
    if not isinstance(value, str) or value not in PROFILES:
        msg = f"{path}: expected one of {', '.join(PROFILES)}, got {shown(value)}"
        raise MalformedEditError(msg)
    return PROFILES[value].version


def _answer_fields(value: object, path: str) -> tuple[tuple[str, Any], ...]:
    if not isinstance(value, dict) or not value:
        msg = f"{path}: expected fields of an answer and their values, got {shown(value)}"
        raise MalformedEditError(msg)
    return tuple((name, _value_of(name, given)) for name, given in value.items())


_FIELDS: Final[Mapping[str, Callable[[object, str], Any]]] = {
    "other": _version,
    "number": _number,
    "holds": _truth,
    "ends": _truth,
    "fields": _answer_fields,
}


def _value_as_json(value: object) -> object:
    if value is ANY:
        return _ANYTHING
    if isinstance(value, InsteadOf):
        return {"value": _value_as_json(value.value), "instead of": _value_as_json(value.own)}
    if isinstance(value, ErrorCode) and value.name in ErrorCode.__members__:
        return value.name
    return encode_record(value)


def _value_of(field: str, given: object) -> object:
    """The value of a field of an answer: of the first API where the field has such values."""
    if given == _ANYTHING:
        return ANY
    if isinstance(given, dict) and given.keys() == _INSTEAD_OF:
        return InsteadOf(*(_value_of(field, given[key]) for key in ("value", "instead of")))
    field = field.rpartition(".")[2]
    if field not in _types():
        msg = f"fields: no answer has a field {shown(field)}"
        raise MalformedEditError(msg)
    refused = ""
    for cls in _types()[field]:
        if cls is ErrorCode and isinstance(given, str) and given in ErrorCode.__members__:
            return ErrorCode[given]
        try:
            value = decode(cls, given, f"fields.{field}")
        except MalformedBodyError as error:
            refused = refused or str(error)
        else:
            if encode_record(value) == given:
                return value
    raise MalformedEditError(refused or f"fields.{field}: no answer has the value {shown(given)}")


@cache
def _types() -> Mapping[str, list[Any]]:
    """The types that each field has in answers, nested records included."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    records: list[Any] = list(RESPONSES.values())
    for cls in records:
        for name, hint in get_type_hints(cls).items():
            found[name].append(hint)
            if (inner := record_in(hint)) is not None:
                records.append(inner)
    return found
