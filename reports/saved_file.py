"""Saved results as files: written, read back, and the JSON Schema that says what is in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from groupcheck.reports.saved import FORMAT, Saved

# An older form that is read as well: it has verifications alone, and is otherwise the same.
OLDER: Final = 2

NAME: Final = "result.json"
MOST_BYTES: Final = 256 * 1024 * 1024  # some files have no end


class MalformedResultError(ValueError):
    """A file is not a result that groupcheck saved, or not one this version can read."""


def as_text(saved: Saved) -> str:
    """The result as JSON, in ASCII: what a port said may be no Unicode."""
    return json.dumps(msgspec.to_builtins(saved), indent=1) + "\n"


def read(path: Path) -> Saved:
    """The result in a file, or in the directory of a report.

    Raises:
        MalformedResultError: it is none.
        OSError: it cannot be read.
    """
    if path.is_dir():
        path /= NAME
    with path.open("rb") as file:
        text = file.read(MOST_BYTES + 1)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        msg = f"{path} is no result that groupcheck saved: it is not JSON"
        raise MalformedResultError(msg) from error
    form = found.get("format") if isinstance(found, dict) else None
    if isinstance(found, dict) and form == OLDER:
        found = {**found, "format": FORMAT, "command": "verify"}
    elif form != FORMAT:
        said = "it has no format" if form is None else f"it is of format {form!r}"
        msg = f"{path} is no result that this version reads: {said}, and not of {FORMAT} or {OLDER}"
        raise MalformedResultError(msg)
    try:
        return msgspec.convert(found, Saved, strict=True, str_keys=True)
    except (msgspec.ValidationError, RecursionError) as error:
        msg = f"{path} is no result that groupcheck saved: {error}"
        raise MalformedResultError(msg) from error


def schema() -> dict[str, Any]:
    """The JSON Schema of a saved result."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A result of groupcheck, format {FORMAT}",
        **msgspec.json.schema(Saved),
    }
