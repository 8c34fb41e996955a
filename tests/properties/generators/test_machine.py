"""The state machine: no side effects on Hypothesis, and no repeated hangs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import cast

import pytest
from hypothesis.configuration import set_hypothesis_home_dir, storage_directory

from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.vocabulary import (
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    Request,
)
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.generators.context import capabilities_of
from groupcheck.properties.generators.machine import lockstep, storing_nothing
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Fault, Observation, Port, PortInfo
from groupcheck.properties.sequence import FAULTS
from support.model_port import ModelPort


def _lockstep(port: Port, examples: int = 20, seed: int = 0) -> Finding | None:
    with storing_nothing():
        return lockstep(
            port,
            PROFILES["2.7"],
            examples=examples,
            steps=40,
            seed_number=seed,
            known=set(),
            tally=lambda _steps: None,
        )


def _home() -> Path:
    """The directory of Hypothesis; older versions return the path itself."""
    directory = storage_directory(intent_to_write=False)
    return cast("Path", getattr(directory, "path", directory))


def test_the_storage_directory_of_hypothesis_is_unchanged(tmp_path: Path) -> None:
    before = _home()
    set_hypothesis_home_dir(tmp_path / "mine")
    try:
        assert _lockstep(ModelPort(), 1) is None
        assert _home() == tmp_path / "mine"
    finally:
        set_hypothesis_home_dir(before)


class Recorder(ModelPort):
    """Records its requests; does not support some of them."""

    def __init__(
        self, unsupported: Collection[tuple[str, int]] = (), *, faults: bool = True
    ) -> None:
        super().__init__()
        self.unsupported = unsupported
        self.faults = faults
        self.configs: list[Mapping[str, int]] = []
        self.requests: list[Request] = []
        self.refused: list[object] = []

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        self.configs.append(config)
        return super().open(profile, config)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        self.requests.append(request)
        if (request.api, request.api_version) in self.unsupported:
            self.refused.append((request.api, request.api_version))
            return Observation(unsupported=request.api)
        return super().request(request, expected)

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        if not self.faults:
            self.refused.append(fault.name)
            return Observation(unsupported=fault.name)
        return super().fault(fault, expected)


def test_what_a_port_does_not_support_is_asked_for_once() -> None:
    unsupported = {("JoinGroup", 7), *(("SyncGroup", version) for version in range(6))}
    port = Recorder(unsupported, faults=False)
    assert _lockstep(port) is None
    assert sorted(map(str, port.refused)) == sorted(
        map(str, [*unsupported, *FAULTS, "append", "configure"])
    )
    assert {request.api_version for request in port.requests if request.api == "JoinGroup"} == set(
        range(8)
    )


def test_a_port_of_4_1_is_asked_for_its_versions_and_faults() -> None:
    port = Recorder(faults=False)
    capabilities = capabilities_of(port, PROFILES["4.1"])
    assert {*port.refused} == {*FAULTS, "append", "configure"}
    assert not capabilities.faults
    assert capabilities.versions["OffsetCommit"] == tuple(range(9, 1, -1))
    assert capabilities.versions["OffsetFetch"] == tuple(range(7, 0, -1))
    assert capabilities.versions["JoinGroup"] == tuple(range(9, -1, -1))


@pytest.mark.slow
def test_the_state_machine_meets_what_no_model_instance_has() -> None:
    port, missing = Recorder(), ["all of it"]
    for seed in range(8):
        assert _lockstep(port, 200, seed) is None
        missing = [what for what, met in _met(port).items() if not met]
        if not missing:
            break
    assert missing == []


def _met(port: Recorder) -> dict[str, bool]:
    bodies = [request.body for request in port.requests]
    joins = [body for body in bodies if isinstance(body, JoinGroupRequest)]
    topics = [topic for b in bodies if isinstance(b, OffsetCommitRequest) for topic in b.topics]
    commits = [[partition.partition_index for partition in topic.partitions] for topic in topics]
    fetches = [body.topics for body in bodies if isinstance(body, OffsetFetchRequest)]
    worded = {request._replace(request_id=0) for request in port.requests}
    return {
        "no protocol type": any(not body.protocol_type for body in joins),
        "no rebalance timeout": any(body.rebalance_timeout_ms == 0 for body in joins),
        "a static member": any(body.group_instance_id for body in joins),
        "a partition twice": any(len(set(indexes)) < len(indexes) for indexes in commits),
        "no topics": () in fetches,
        "no partitions": any(t.partition_indexes == () for ts in fetches for t in ts or ()),
        "a topic twice": any(len({t.name for t in ts}) < len(ts) for ts in fetches if ts),
        "every setting": len({name for config in port.configs for name in config}) == 6,
        "every API": {r.api for r in port.requests} == set(PROFILES["2.7"].max_versions),
        "a request twice, word for word": len(worded) < len(port.requests),
    }


def test_the_builtin_coordinator_conforms_beyond_the_instances() -> None:
    assert _lockstep(BuiltinPort(1), 80) is None
