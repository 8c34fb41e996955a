"""Any finding of a port can be explained, drawn and written."""

from __future__ import annotations

import json
from collections.abc import Collection
from random import Random
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.vocabulary import ErrorCode, GroupView, Request, Response
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.generators.machine import lockstep
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Observation
from groupcheck.reports.files import finding_files
from groupcheck.reports.finding_record import explained, finding_record

ERRORS = (
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)


class Unreliable(BuiltinPort):
    """Sometimes omits an answer, returns another error, or shows another state."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.random = Random(seed)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        return self._spoilt(super().request(request, expected))

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        return self._spoilt(super().advance(ms, expected))

    def _spoilt(self, seen: Observation) -> Observation:
        if self.random.random() < 0.05:
            responses = tuple(each for r in seen.responses for each in self._other(r))
            return seen._replace(responses=responses)
        if seen.groups and self.random.random() < 0.02:
            return seen._replace(groups=(self._another(seen.groups[0]),))
        return seen

    def _other(self, response: Response) -> list[Response]:
        body: Any = response.body
        if self.random.random() < 0.4 or not hasattr(body, "error_code"):
            return []
        return [response._replace(body=body._replace(error_code=self.random.choice(ERRORS)))]

    def _another(self, view: GroupView) -> GroupView:
        return self.random.choice(
            [
                view._replace(generation_id=(view.generation_id or 0) + 1),
                view._replace(state="Stable"),
                view._replace(state="Empty", members=()),
                view._replace(leader="nobody"),
            ]
        )


def _found(profile: str) -> list[Finding]:
    known: set[tuple[str, ...]] = set()
    found = []
    for seed in range(25):
        port = Unreliable(seed)
        finding = lockstep(
            port,
            PROFILES[profile],
            examples=4,
            steps=30,
            seed_number=seed,
            known=known,
            tally=lambda _steps: None,
        )
        if finding is not None:
            known.add(finding.key)
            found.append(finding)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["2.7", "4.1"])
def test_the_finding_of_any_difference_is_explained_drawn_and_written(profile: str) -> None:
    findings = _found(profile)
    assert len(findings) > 10
    rules, violated = zip(*map(explained, findings), strict=True)
    assert any(rules)
    assert any(violated)
    for finding in findings:
        files = finding_files(finding_record(finding, "port"))
        stem = f"finding_{finding.finding_id}"
        assert ET.fromstring(files[f"{stem}.svg"]).tag.endswith("svg")  # noqa: S314 - it comes from here
        itf = json.loads(files[f"{stem}.itf.json"])
        assert len(itf["states"]) == 1 + len(finding.exchanges)
        assert files[f"{stem}.mmd"].startswith("sequenceDiagram\n")
