"""What a check of logs came to, as one page of HTML: verdicts, findings, a lane for each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any
from xml.etree.ElementTree import tostring

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from groupcheck import __version__
from groupcheck.properties.findings.finding import Finding
from groupcheck.reports.lanes import Lane, drawn, duration
from groupcheck.reports.pipeline import Found, rejected_said
from groupcheck.reports.story import story
from groupcheck.reports.words import bounded

Lanes = Mapping[tuple[str, int], Sequence[Lane]]


def check_page(done: Mapping[str, Any], findings: Found, lanes: Lanes) -> str:
    """The page.

    Args:
        done: the figures of the check, by their names.
        findings: the first findings, each with what it is in full, if that is known.
        lanes: of each source and session the groups that rebalanced most.
    """
    environment = Environment(
        loader=PackageLoader("groupcheck.reports", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    page = files("groupcheck.reports") / "page"
    return environment.get_template("check.html.j2").render(
        done=done,
        findings=[_told(told, finding) for told, finding in findings],
        sessions=[_session(*key, each) for key, each in lanes.items()],
        duration=lambda ms: "" if ms is None else duration(ms),
        shown=lambda text: "" if text is None else bounded(str(text)),
        version=__version__,
        style=Markup((page / "page.css").read_text(encoding="utf-8")),  # noqa: S704 - it is ours
    )


def _told(told: Any, finding: Finding | None) -> dict[str, str]:  # noqa: ANN401 - a row
    return {
        "line": bounded(rejected_said(told, finding)),
        "story": "" if finding is None else story(finding),
    }


def _session(source: str, session: int, lanes: Sequence[Lane]) -> dict[str, Any]:
    several = [lane._replace(group_id=bounded(lane.group_id)) for lane in lanes]
    name = bounded(f"{source}, session {session}")
    picture = tostring(drawn(several, f"Rebalances in {name}"), encoding="unicode")
    return {
        "name": name,
        "picture": Markup(picture),  # noqa: S704 - ElementTree has escaped it
        "lanes": several,
    }
