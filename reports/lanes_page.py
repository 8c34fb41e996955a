"""The rebalances of a check as a page has them: a picture of each session, with lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import tostring

import msgspec
from markupsafe import Markup

from groupcheck.reports.lanes import Lane, drawn, lanes_of
from groupcheck.reports.saved import Saved
from groupcheck.reports.words import bounded


def sessions(saved: Saved) -> list[dict[str, Any]]:
    """Each session in which a group rebalanced: its name, its picture and its lanes."""
    if saved.check is None:
        return []
    rows = map(msgspec.structs.asdict, saved.check.rebalances)
    return [_session(*whose, lanes) for whose, lanes in lanes_of(rows).items()]


def _session(source: str, session: int, lanes: Sequence[Lane]) -> dict[str, Any]:
    several = [lane._replace(group_id=bounded(lane.group_id)) for lane in lanes]
    name = bounded(f"{source}, session {session}")
    picture = tostring(drawn(several, f"Rebalances in {name}"), encoding="unicode")
    return {
        "name": name,
        "picture": Markup(picture),  # noqa: S704 - ElementTree has escaped it
        "lanes": several,
    }
