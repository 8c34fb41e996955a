"""Verifying a client: each difference is found once, with the shortest sequence that shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from groupcheck.model.client import (
    ASSIGNED,
    LOST,
    NO_MEMBER_ID,
    REVOKED,
    SUBSCRIBE,
    ClientEvent,
    ClientInput,
)
from groupcheck.model.member.specification import instances
from groupcheck.model.member.state import Settings
from groupcheck.properties.clients.builtin import BuiltinClient, BuiltinConsumer
from groupcheck.properties.clients.differences import difference
from groupcheck.properties.clients.port import (
    ClientFailedError,
    UnsupportedSettingsError,
)
from groupcheck.properties.clients.sequence_file import (
    read_sequence,
    write_sequence,
)
from groupcheck.properties.clients.verify import Limits, Verified, verify, verify_sequence
from groupcheck.properties.finding_file import MalformedFileError

Events = tuple[ClientEvent, ...]
Change = Callable[[ClientInput, Events], Events]


class Changed(BuiltinConsumer):
    """A consumer whose events are changed."""

    def __init__(self, given: Settings, change: Change) -> None:
        super().__init__("4.1", given)
        self.change = change

    def do(
        self, given: ClientInput, expected: Sequence[ClientEvent], *, patience_s: float
    ) -> Events:
        return self.change(given, super().do(given, expected, patience_s=patience_s))


class ChangedClient(BuiltinClient):
    """A client whose consumers do something else than Kafka's."""

    def __init__(self, change: Change) -> None:
        super().__init__("4.1")
        self.change = change

    def start(self, settings: Settings) -> BuiltinConsumer:
        return Changed(settings, self.change)


def never_lost(_: ClientInput, events: Events) -> Events:
    return tuple(e._replace(name=REVOKED) if e.name == LOST else e for e in events)


def keeps_member_id(_: ClientInput, events: Events) -> Events:
    return tuple(
        e._replace(member_id="m") if (e.name, e.member_id) == ("JoinGroup", NO_MEMBER_ID) else e
        for e in events
    )


def never_assigned(_: ClientInput, events: Events) -> Events:
    return tuple(e for e in events if e.name != ASSIGNED)


def run(client: BuiltinClient, name: str = "eager") -> Verified:
    return verify(client, name, instances("4.1")[name], Limits(jobs=2))


def test_a_wrong_call_of_the_listener_is_one_finding_and_hides_no_transition() -> None:
    result = run(ChangedClient(never_lost))
    (finding,) = result.findings
    assert finding.words == "no onPartitionsLost; onPartitionsRevoked"
    assert finding.confirmed
    assert result.untried == 0
    assert result.same + result.differing == result.transitions
    # Subscribe, find, join, sync, and a heartbeat that is answered with UNKNOWN_MEMBER_ID.
    assert len(finding.inputs) == 6
    assert finding.inputs[0] == ClientInput(SUBSCRIBE)
    assert {rule for rules, _ in finding.rules for rule in rules.split()} >= {"poll/lost"}


def test_two_differences_are_two_findings() -> None:
    def both(given: ClientInput, events: Events) -> Events:
        return never_lost(given, never_assigned(given, events))

    found = {finding.words for finding in run(ChangedClient(both)).findings}
    assert found == {"no onPartitionsAssigned", "no onPartitionsLost; onPartitionsRevoked"}


def test_behind_another_request_the_state_is_not_known_and_nothing_is_tried() -> None:
    result = run(ChangedClient(keeps_member_id))
    (finding,) = result.findings
    assert finding.words == "JoinGroup with another member id"
    assert len(finding.inputs) == 2
    assert result.untried > 0


def test_a_difference_that_a_fresh_consumer_does_not_show_is_none() -> None:
    shown: list[ClientInput] = []

    def once(given: ClientInput, events: Events) -> Events:
        if len(shown) < 5 and given.name == "SyncGroup" and given.partitions:
            shown.append(given)
            return ()
        return events

    # The replay of the first difference shows it again, so an odd number leaves one unshown.
    result = run(ChangedClient(once))
    assert result.untried == 0
    assert len(result.findings) <= 1


def test_a_client_that_fails_is_reported_and_asked_at_most_twenty_times() -> None:
    def fail(given: ClientInput, events: Events) -> Events:
        if given.name == "Heartbeat":
            msg = "the process ended with status 1"
            raise ClientFailedError(msg)
        return events

    result = run(ChangedClient(fail))
    assert list(result.failures) == ["the process ended with status 1"]
    assert result.stopped == "the client failed 20 times"
    assert result.failed == 20


def test_settings_that_a_client_does_not_have_are_no_finding() -> None:
    class Without(BuiltinClient):
        def start(self, settings: Settings) -> BuiltinConsumer:
            del settings
            msg = "it has no cooperative assignor"
            raise UnsupportedSettingsError(msg)

    result = run(Without("4.1"), "cooperative")
    assert result.unsupported == "it has no cooperative assignor"
    assert (result.findings, result.same) == ([], 0)


def test_a_saved_sequence_shows_the_finding_again(tmp_path: Path) -> None:
    client = ChangedClient(never_lost)
    (finding,) = run(client).findings
    write_sequence(tmp_path / "file", "4.1", "eager", finding.inputs)
    sequence = read_sequence(tmp_path / "file")
    assert sequence == ("4.1", "eager", finding.inputs)
    again = verify_sequence(client, "eager", instances("4.1")["eager"], sequence.inputs)
    assert [each.words for each in again.findings] == [finding.words]
    conforming = verify_sequence(
        BuiltinClient("4.1"), "eager", instances("4.1")["eager"], sequence.inputs
    )
    assert conforming.findings == []


def test_a_client_without_automatic_commits_is_led_on_as_if_they_were_answered() -> None:
    class Without(BuiltinClient):
        def start(self, settings: Settings) -> BuiltinConsumer:
            return super().start(settings._replace(auto_commit=False))

    result = run(Without("4.1"), "automatic")
    assert {finding.words for finding in result.findings} >= {
        "no OffsetCommit",
        "no OffsetCommit; onPartitionsRevoked; JoinGroup",
        "no OffsetCommit; onPartitionsRevoked; LeaveGroup",
    }
    assert result.same > result.transitions / 2


@pytest.mark.parametrize("text", ["", "{}", '{"version":1}', "\xff", '{"version":"4.1"}'])
def test_a_file_without_a_sequence_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text, encoding="latin-1")
    with pytest.raises(MalformedFileError, match="has no sequence"):
        read_sequence(tmp_path / "file")


def test_a_sequence_that_is_not_possible_is_refused() -> None:
    with pytest.raises(ClientFailedError, match="not possible in this state"):
        verify_sequence(
            BuiltinClient("4.1"),
            "eager",
            instances("4.1")["eager"],
            (ClientInput("Heartbeat", "NONE"),),
        )


@pytest.mark.parametrize(
    ("expected", "seen", "words"),
    [
        ((), (ClientEvent("JoinGroup"),), "JoinGroup"),
        ((ClientEvent("JoinGroup"),), (), "no JoinGroup"),
        (
            (ClientEvent("Heartbeat", "m", 1),),
            (ClientEvent("Heartbeat", "", 2),),
            "Heartbeat with another member id and another generation",
        ),
        (
            (ClientEvent(REVOKED, partitions=(0,)), ClientEvent("JoinGroup")),
            (ClientEvent("JoinGroup"), ClientEvent(REVOKED, partitions=(0,))),
            "another order",
        ),
    ],
)
def test_words_of_a_difference_have_no_numbers(expected: Events, seen: Events, words: str) -> None:
    found = difference(expected, seen)
    assert found is not None
    assert found.words == words
