"""The model as a port: makes every choice that Kafka, or an edited model, allows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from random import Random

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.exploring.canonical import rename
from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Advance, Configure, Coordinator, FailAppends, Log
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.vocabulary import ErrorCode, Request, Response, ResponseBody
from groupcheck.properties.oracle import config_of
from groupcheck.properties.ports.port import Fault, Observation, PortInfo
from groupcheck.properties.sequence import FAULTS


class ModelPort:
    """Responds as the model does; takes one of the allowed outcomes at random.

    With an `edited` profile it has the edited rules; an input without an outcome has no effect.
    """

    real_time = False
    max_versions: Mapping[str, int] | None = None

    def __init__(self, seed: int = 0, edited: Profile | None = None) -> None:
        self._random = Random(seed)
        self._edited = edited
        self._state = Coordinator(log=Log())

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        self._profile = self._edited or PROFILES[profile]
        self._config = config_of(self._profile, config)._replace(keeps_ages=True)
        self._state = Coordinator(log=Log())
        self._ids: dict[str, str] = {}
        return PortInfo("the model", profile)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        del expected
        symbols = {real: symbol for symbol, real in self._ids.items()}
        return self._do(request._replace(body=rename(request.body, symbols, 0)))

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        del expected
        return self._do(Advance(ms))

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        del expected
        if fault.name == "append":
            return self._do(FailAppends(fault.number or 0, ErrorCode(fault.error or 0)))
        if fault.name == "configure":
            return self._do(Configure(fault.max_size or 0))
        return self._do(FAULTS[fault.name]())

    def close(self) -> None:
        pass

    def shutdown(self) -> None:
        pass

    def _do(self, given: Input) -> Observation:
        outcomes = successors(self._state, given, self._profile, self._config)
        if not outcomes:
            return Observation(())
        outcome = self._random.choice(outcomes)
        self._state = outcome.coordinator
        return Observation(
            tuple(Response(r.request_id, self._real(r.body)) for r in outcome.responses)
        )

    def _name(self, symbol: str) -> str:
        if not symbol.startswith("#"):
            return symbol
        return self._ids.setdefault(symbol, f"{GROUP_ID}-{self._random.random()}")

    def _real(self, body: ResponseBody) -> ResponseBody:
        if isinstance(body, kafka.JoinGroupResponse):
            members = [m._replace(member_id=self._name(m.member_id)) for m in body.members]
            self._random.shuffle(members)
            return body._replace(
                leader=self._name(body.leader),
                member_id=self._name(body.member_id),
                members=tuple(members),
            )
        if isinstance(body, kafka.LeaveGroupResponse):
            left = (m._replace(member_id=self._name(m.member_id)) for m in body.members)
            return body._replace(members=tuple(left))
        if isinstance(body, kafka.DescribeGroupsResponse):
            return kafka.DescribeGroupsResponse(
                tuple(
                    g._replace(
                        members=tuple(
                            m._replace(member_id=self._name(m.member_id)) for m in g.members
                        )
                    )
                    for g in body.groups
                )
            )
        return body
