"""The names of the members of a finding, and the steps of its requests."""

from __future__ import annotations

from typing import NamedTuple

from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import Request
from groupcheck.properties.compare import UNREVEALED
from groupcheck.properties.findings.finding import Finding
from groupcheck.reports.messages import Names, letters


class FindingNames(NamedTuple):
    """The letters of members and the steps of requests.

    `symbols` has the letters by symbol, `ids` by symbol and by the port's member ids; `steps` has
    the step of each request, from 1.
    """

    symbols: dict[str, str]
    ids: dict[str, str]
    steps: dict[int, int]

    @classmethod
    def of(cls, finding: Finding) -> FindingNames:
        """Those of a finding."""
        return cls.made(finding.sequence.steps, finding.names)

    @classmethod
    def made(cls, given: tuple[Input, ...], symbols: Names) -> FindingNames:
        """Those of some steps; `symbols` maps the port's member ids to symbols."""
        names = {UNREVEALED: "an unknown id", **letters(given)}
        ids = {real: names.get(symbol, symbol) for real, symbol in symbols.items()} | names
        steps = {s.request_id: n for n, s in enumerate(given, 1) if isinstance(s, Request)}
        return cls(names, ids, steps)
