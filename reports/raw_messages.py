"""The messages of a replay in the form of the port protocol."""

from __future__ import annotations

from groupcheck.model.classic.exploring.canonical import rename
from groupcheck.model.vocabulary import Request
from groupcheck.properties.findings.finding import Exchange
from groupcheck.properties.sequence import as_line, response_message, step_message
from groupcheck.reports.messages import Names


def raw_messages(exchanges: tuple[Exchange, ...], symbols: Names) -> list[str]:
    """The messages, a line for each; `symbols` maps the port's member ids to symbols."""
    real = {symbol: member_id for member_id, symbol in symbols.items()}
    versions: dict[int, int] = {}
    lines: list[str] = []
    for given, seen in exchanges:
        sent = given
        if isinstance(given, Request):
            versions[given.request_id] = given.api_version
            sent = given._replace(body=rename(given.body, real, 0))
        lines.append(f"> {as_line(step_message(sent))}")
        for response in seen.responses:
            version = versions[response.request_id]
            lines.append(f"< {as_line(response_message(response, version))}")
    return lines
