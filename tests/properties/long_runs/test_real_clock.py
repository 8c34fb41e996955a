"""Verification on a real clock: findings must be reproduced, and interrupts take effect at once."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable

import pytest

from groupcheck.cli import main
from groupcheck.implementation.core.config import Config
from groupcheck.model.vocabulary import ErrorCode, HeartbeatResponse
from groupcheck.properties.ports.source import PortSource, port_source
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.tolerances import Tolerances
from groupcheck.properties.verify import Verification
from groupcheck.reports.terminal import summary
from groupcheck.reports.verification_record import result_record
from support.wire_broker import Asked, CoordinatorBroker, reply, serving

AT_ONCE = Config(group_initial_rebalance_delay_ms=0)

WRONG = HeartbeatResponse(ErrorCode(99))


class BrieflyWrong(CoordinatorBroker):
    """Answers the first few heartbeats with an unknown error, and the others as Kafka does."""

    def __init__(self, wrong_answers: int) -> None:
        super().__init__(AT_ONCE)
        self.wrong_answers = wrong_answers
        self._answer_correctly = self.answer
        self.answer = self._answer

    def _answer(self, asked: Asked) -> bytes | None:
        if asked.name == "HeartbeatRequest" and self.wrong_answers:
            self.wrong_answers -= 1
            return reply(asked, error_code=WRONG.error_code)
        return self._answer_correctly(asked)


def source_of(broker: CoordinatorBroker) -> PortSource:
    return port_source(f"kafka://127.0.0.1:{broker.port}")


def test_finding_that_is_not_reproduced_is_only_counted() -> None:
    with serving(BrieflyWrong(1)) as broker:
        result = Verification(source_of(broker), Settings(examples=10, steps=20)).run()
    assert result.findings == []
    assert result.not_reproduced == 1
    assert "dropped    1 finding, not reproduced\n" in summary(result_record(result), [])
    assert result_record(result).findings_not_reproduced == 1


def test_finding_that_is_reproduced_is_reported() -> None:
    with serving(BrieflyWrong(1_000_000)) as broker:
        result = Verification(source_of(broker), Settings(examples=10, steps=20)).run()
    assert result.not_reproduced == 0
    assert result.findings
    assert len(result.findings[0].sequence.steps) == 1


class Hanging(BrieflyWrong):
    """Stops answering one API after its first wrong answer; `waiting` counts those requests."""

    def __init__(self, api: str) -> None:
        super().__init__(1)
        self.slow = api
        self.waiting = threading.Semaphore(0)

    def respond(self, asked: Asked) -> bytes | None:
        if asked.name == f"{self.slow}Request" and not self.wrong_answers:
            self.waiting.release()
            return b""
        return super().respond(asked)


@pytest.mark.parametrize("api", ["OffsetFetch", "Metadata"])
def test_interrupted_run_ends_at_once_with_its_findings(api: str) -> None:
    found = threading.Event()
    interrupted_s = 0.0

    def progress(_what: str, _total: int | None) -> Callable[[int], None]:
        return lambda _done: found.set() if verification.findings else None

    def interrupt() -> None:
        nonlocal interrupted_s
        found.wait()
        for _ in range(10):
            broker.waiting.acquire()
        interrupted_s = time.monotonic()
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)

    before = threading.active_count()
    with serving(Hanging(api)) as broker:
        verification = Verification(
            source_of(broker), Settings(examples=1_000, steps=100), progress
        )
        person = threading.Thread(target=interrupt, daemon=True)
        person.start()
        result = verification.run()
        took_s = time.monotonic() - interrupted_s
        person.join(10)
    assert result.ended_early == "interrupted"
    # On a busy machine others may be found: answers that are late.
    seen = [finding.difference and finding.difference.seen for finding in result.findings]
    assert seen.count(WRONG) == 1
    assert took_s < 3, f"it took {took_s} s"
    assert threading.active_count() == before


@pytest.mark.parametrize(("late_ms", "conforms"), [(500, False), (4_000, True)])
def test_late_ms_sets_how_late_a_timer_may_fire(
    late_ms: int, capsys: pytest.CaptureFixture[str], *, conforms: bool
) -> None:
    with serving(CoordinatorBroker(Config(group_initial_rebalance_delay_ms=1_500))) as broker:
        port = f"kafka://127.0.0.1:{broker.port}?group.initial.rebalance.delay.ms=0"
        asked = ["--examples=48", "--steps=6", f"--late-ms={late_ms}", "--grace-ms=40", "--json"]
        status = main(["verify", port, *asked])
    result = json.loads(capsys.readouterr().out)
    assert (status == 0, result["conforms"]) == (conforms, conforms)
    tolerances = {"late_ms": late_ms, "early_ms": 50, "answer_ms": 5_000, "grace_ms": 40}
    assert result["runs"][0]["tolerances"] == tolerances


def test_tolerances_are_reported_on_a_real_clock_only() -> None:
    tolerances = Tolerances(late_ms=2_000, grace_ms=7)
    said = summary(
        result_record(Result("kafka://x", Settings(), "Kafka", tolerances=tolerances)), []
    )
    assert "tolerances a timer may fire up to 2,000 ms late, never early" in said
    assert "7 ms to confirm that none arrives" in said
    virtual = Result("builtin", Settings(), "Kafka")
    assert "tolerances" not in summary(result_record(virtual), [])
    assert result_record(virtual).runs[0].tolerances is None
