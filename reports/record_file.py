"""Result files: writes and reads them, and makes their JSON Schema."""

from __future__ import annotations

import json
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final

import msgspec

from groupcheck.reports.record import FORMAT, ResultRecord

NAME: Final = "result.json"
PAGE: Final = "index.html"  # in the same folder
MOST_BYTES: Final = 256 * 1024 * 1024  # device files have no end


class MalformedResultError(ValueError):
    """A file is not a result of groupcheck, or this version cannot read it."""


def as_text(saved: ResultRecord) -> str:
    """The result as JSON, in ASCII: a port may answer with lone surrogates."""
    return json.dumps(msgspec.to_builtins(saved), indent=1) + "\n"


def read(path: Path) -> ResultRecord:
    """The result in a file, or in the directory of a report.

    Raises:
        MalformedResultError: the file is not a result.
        OSError: it cannot be read.
    """
    if path.is_dir():
        path /= NAME
    with path.open("rb") as file:
        text = file.read(MOST_BYTES + 1)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        msg = f"{path} is not a result of groupcheck: it is not JSON"
        raise MalformedResultError(msg) from error
    form = found.get("format") if isinstance(found, dict) else None
    if form != FORMAT:
        msg = (
            f"{path} is not a result that this version reads: its format is {form!r}, not {FORMAT}"
        )
        raise MalformedResultError(msg)
    try:
        return msgspec.convert(found, ResultRecord, strict=True, str_keys=True)
    except (msgspec.ValidationError, RecursionError) as error:
        msg = f"{path} is not a result of groupcheck: {error}"
        raise MalformedResultError(msg) from error


def schema() -> dict[str, Any]:
    """The JSON Schema of a saved result."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A result of groupcheck, format {FORMAT}",
        **_cleaned(msgspec.json.schema(ResultRecord)),
    }


def _cleaned(value: Any) -> Any:  # noqa: ANN401 - JSON
    """A schema whose descriptions have no indentation, which Python keeps before 3.13."""
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: cleandoc(each) if key == "description" and isinstance(each, str) else _cleaned(each)
        for key, each in value.items()
    }
