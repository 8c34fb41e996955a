"""Checks the recorded events of one group against the model, exchange by exchange."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from groupcheck.model.exploring.canonical import rename
from groupcheck.model.instances.inputs import NOBODY
from groupcheck.model.profiles import PROFILES
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request, Response
from groupcheck.properties.histories.one_group import without
from groupcheck.properties.histories.recorded_replay import Playback
from groupcheck.properties.ports.port import Observation
from groupcheck.properties.run import Run
from groupcheck.properties.sequence import member_ids


class ExchangeChecker:
    """Checks the exchanges of one group with the oracle."""

    def __init__(self, profile: str, broker: Mapping[str, int]) -> None:
        self.checked = True  # whether the last exchange was
        self.begin(profile, broker)

    def begin(self, profile: str, broker: Mapping[str, int]) -> None:
        """Start, or restart, without a group."""
        self._port = _RecordedPort()
        self.run = Run(self._port, PROFILES[profile], broker)

    def take(self, given: Input, answers: list[Response], held: list[Response]) -> None:
        """Check the next exchange.

        Args:
            given: the request, or another input.
            answers: the responses to it.
            held: the responses at the release of the appends that the exchange may wait for.

        Raises:
            FoundError: the model does not allow it.

        """
        run, port = self.run, self._port
        port.held = held
        if not isinstance(given, Request):
            port.next = Observation(tuple(answers))
            run.step(given)
            return
        # An id that no response revealed is from before the recording: no member has it.
        known = run.oracle.names
        names = {name: known.get(name, NOBODY) for name in member_ids(given.body) if name}
        strangers = names.keys() - known.keys()
        seen = (a._replace(body=without(a.body, strangers)) for a in answers)
        port.next = Observation(tuple(seen))
        run.step(given._replace(body=rename(given.body, names, 0)))

    def forget(self, most: int) -> None:
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


class _RecordedPort(Playback):
    """A port that returns `next` for every request."""

    def __init__(self) -> None:
        super().__init__(())
        self.next = Observation()
        self.held: list[Response] = []  # responses that may wait for appends of other groups

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """The responses of this exchange, and those of the release that are expected now."""
        del request
        seen = {answer.request_id for answer in self.next.responses}
        early = [answer for answer in self.held if answer.request_id in {*expected} - seen]
        for answer in early:
            self.held.remove(answer)
        return self.next._replace(responses=(*self.next.responses, *early))

    def _next(self) -> Observation:
        return self.next
