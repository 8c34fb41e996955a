"""The file of known deviations: what `groupcheck verify --deviations FILE` writes and reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from groupcheck.model.classic.edits import MalformedEditError, from_json
from groupcheck.model.classic.step import Profile
from groupcheck.properties.deviations.search import KnownDeviation
from groupcheck.properties.sequence import MalformedTraceError, parse
from groupcheck.reports.record import Cause, ResultRecord

FORMAT: Final = 1


class MalformedDeviationsError(Exception):
    """A file has no known deviations of that version; the message says why."""


class Entry(Cause, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A deviation, the id and the severity of its finding, and the trace that shows it."""

    id: str
    severity: str
    trace: tuple[dict[str, Any], ...]


class DeviationsFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The deviations of a port from a version of Kafka, the most severe first."""

    format: int
    port: str
    profile: str
    deviations: tuple[Entry, ...]


def as_text(saved: ResultRecord) -> str:
    """The text of the file for a result."""
    entries = tuple(
        Entry(
            **msgspec.structs.asdict(finding.cause),
            id=finding.id,
            severity=finding.severity,
            trace=finding.trace,
        )
        for finding in saved.findings
        if finding.cause is not None
    )
    made = DeviationsFile(format=FORMAT, port=saved.port, profile=saved.profile, deviations=entries)
    return json.dumps(msgspec.to_builtins(made), indent=1, ensure_ascii=False) + "\n"


def read(path: Path, profile: Profile) -> tuple[KnownDeviation, ...]:
    """The known deviations in a file.

    Raises:
        MalformedDeviationsError: it has none, or those of another version.
        OSError: it cannot be read.
    """
    try:
        found = msgspec.json.decode(path.read_bytes(), type=DeviationsFile)
        if found.format != FORMAT or found.profile != profile.name:
            msg = f"{path}: deviations of format {found.format} from {found.profile};"
            msg += f" expected format {FORMAT} and {profile.name}"
            raise MalformedDeviationsError(msg)
        return tuple(_known(entry, profile) for entry in found.deviations)
    except (msgspec.DecodeError, MalformedEditError, MalformedTraceError) as error:
        msg = f"{path}: not a file of deviations: {error}"
        raise MalformedDeviationsError(msg) from error


def _known(entry: Entry, profile: Profile) -> KnownDeviation:
    lines = "\n".join(map(json.dumps, entry.trace))
    return KnownDeviation(from_json(entry.edit, profile.version), parse(lines, entry.id))
