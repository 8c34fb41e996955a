"""Checks recorded exchanges with the oracle, without the port."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from groupcheck.model.classic.exploring.canonical import rename
from groupcheck.model.classic.instances.inputs import NOBODY
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.state import HeldAnswer
from groupcheck.model.classic.step import Outcome
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import (
    API_OF,
    JoinGroupResponse,
    Request,
    Response,
    SyncGroupResponse,
)
from groupcheck.properties.findings.finding import Exchange
from groupcheck.properties.histories.bodies import without
from groupcheck.properties.ports.port import Observation
from groupcheck.properties.run import Checks
from groupcheck.properties.sequence import member_ids


def check_recorded(checks: Checks, exchange: Exchange) -> None:
    """Check the next recorded exchange of a test, which has the port's own member ids.

    Raises:
        FoundError: the model does not allow it.
    """
    given = renamed(exchange.given, checks.oracle.names)
    checks.observe(given, checks.oracle.predict(given), exchange.seen)


def renamed(given: Input, names: dict[str, str]) -> Input:
    """The input with other member ids."""
    if not isinstance(given, Request):
        return given
    return given._replace(body=rename(given.body, names, 0))


def _deferred(outcome: Outcome, later: Collection[int]) -> Outcome:
    """The outcome with the answers to these requests deferred, but for those of a group."""

    def waits(response: Response) -> bool:
        by_group = isinstance(response.body, JoinGroupResponse | SyncGroupResponse)
        return response.request_id in later and not by_group

    held = [
        HeldAnswer(r.request_id, API_OF[type(r.body)], r.body)
        for r in outcome.responses
        if waits(r)
    ]
    if not held:
        return outcome
    answers = zip(outcome.responses, outcome.reasons, strict=True)
    now = [(response, reason) for response, reason in answers if not waits(response)]
    coordinator = outcome.coordinator
    return outcome._replace(
        coordinator=coordinator._replace(appends=(*coordinator.appends, *held)),
        responses=tuple(response for response, _ in now),
        reasons=tuple(reason for _, reason in now),
    )


class ExchangeChecker:
    """Checks the exchanges of one group with the oracle."""

    def __init__(self, profile: str, broker: Mapping[str, int]) -> None:
        self.checked = True  # whether the last exchange was
        self.begin(profile, broker)

    def begin(self, profile: str, broker: Mapping[str, int]) -> None:
        """Start, or restart, without a group."""
        self.run = Checks(EVERY_PROFILE[profile], broker)
        oracle = self.run.oracle  # groups of one partition are recorded together
        oracle.config = oracle.config._replace(shares_partition=True)

    def take(self, given: Input, answers: list[Response], held: list[Response]) -> None:
        """Check the next exchange.

        Args:
            given: the request, or another input.
            answers: the responses to it.
            held: the responses at the release of the appends that the exchange may wait for. An
                answer among them may have waited for a record of another group.

        Raises:
            FoundError: the model does not allow it.

        """
        oracle = self.run.oracle
        if isinstance(given, Request):
            # An id that no response revealed is from before the recording: no member has it.
            known = oracle.names
            names = {name: known.get(name, NOBODY) for name in member_ids(given.body) if name}
            strangers = names.keys() - known.keys()
            answers = [a._replace(body=without(a.body, strangers)) for a in answers]
            given = renamed(given, names)
        allowed = oracle.predict(given)
        later = {a.request_id for a in held}.difference(a.request_id for a in answers)
        if later:
            allowed = [_deferred(outcome, later) for outcome in allowed]
        self.run.observe(given, allowed, Observation(tuple(answers)))

    def discard_exchanges(self, most: int) -> None:
        """Keep `most` to 2 `most` of the last exchanges, with which a finding then begins.

        Of the earlier exchanges the requests without a response are kept.
        """
        run = self.run
        if len(run.exchanges) < 2 * most:
            return
        for exchange in run.exchanges[:-most]:
            for response in exchange.seen.responses:
                run.oracle.requests.pop(response.request_id, None)
        del run.exchanges[:-most]
