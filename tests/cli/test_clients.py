"""`groupcheck clients` and `groupcheck system`: output, files, exit statuses, messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupcheck.cli import main
from groupcheck.model.client import LOST, REVOKED, ClientEvent, ClientInput
from groupcheck.properties.clients import builtin


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(arguments)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The built-in client calls onPartitionsRevoked where it should call onPartitionsLost."""
    right = builtin.BuiltinConsumer.do

    def do(
        consumer: builtin.BuiltinConsumer,
        given: ClientInput,
        expected: tuple[ClientEvent, ...],
        *,
        patience_s: float,
    ) -> tuple[ClientEvent, ...]:
        events = right(consumer, given, expected, patience_s=patience_s)
        return tuple(e._replace(name=REVOKED) if e.name == LOST else e for e in events)

    monkeypatch.setattr(builtin.BuiltinConsumer, "do", do)


def test_a_client_that_behaves_like_kafkas_has_no_finding(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, out, _ = run(capsys, "clients", "verify", "builtin", "--instance", "eager")
    assert status == 0
    assert "100 % of 739 transitions tried: 739 as in Kafka, 0 differ, 0 failed" in out
    assert out.endswith("verdict    no difference from Kafka's client in what was tried\n")


@pytest.mark.usefixtures("wrong")
def test_a_finding_is_printed_saved_and_shown_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = str(tmp_path / "found")
    options = ("--instance", "eager", "--json", "--save", folder)
    status, out, _ = run(capsys, "clients", "verify", "builtin", *options)
    result = json.loads(out)
    assert status == 1
    (finding,) = result["findings"]
    assert finding["words"] == "no onPartitionsLost; onPartitionsRevoked"
    assert finding["confirmed"]
    assert result["instances"][0]["rules"]["poll/lost"]["same"] == 0
    file = tmp_path / "found" / f"finding_{finding['id']}.json"
    status, out, _ = run(capsys, "clients", "verify", "builtin", "--sequence", str(file))
    assert status == 1
    assert f"Finding {finding['id']}: {finding['words']}" in out
    kafka, client = (line for line in out.splitlines() if line.startswith(("  Kafka", "  group")))
    assert "onPartitionsLost: partitions [0, 1]" in kafka
    assert "onPartitionsRevoked: partitions [0, 1]" in client


def test_a_saved_sequence_without_its_difference_conforms(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text(
        '{"version":"2.7","instance":"eager","inputs":[{"name":"the application subscribes"}]}'
    )
    status, out, _ = run(capsys, "clients", "verify", "builtin", "--sequence", str(file))
    assert status == 0
    assert "Kafka's Java client 2.7" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), "unknown PORT 'nothing'; it is one of: builtin, "),
        (("kafka-clients:1.0",), "VERSION is one of: 2.7, 3.9, 4.1"),
        (("builtin", "--profile", "3.9"), "no rules of version '3.9'; there are those of 2.7, 4.1"),
        (("builtin", "--instance", "lazy"), "unknown instance 'lazy'; known: eager, "),
        (("builtin", "--sequence", "missing"), "cannot read missing: No such file or directory"),
        (("builtin", "--jobs", "0"), "--jobs"),
    ],
)
def test_bad_arguments_are_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    status, out, err = run(capsys, "clients", "verify", *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_sequence_that_is_not_possible_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text('{"version":"4.1","instance":"eager","inputs":[{"name":"Heartbeat"}]}')
    status, _, err = run(capsys, "clients", "verify", "builtin", "--sequence", str(file))
    assert status == 2
    assert err == "groupcheck: not possible in this state: Heartbeat\n"


def test_the_whole_system_is_explored_and_its_promises_hold(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, out, _ = run(capsys, "system", "--json", "--cooperative")
    result = json.loads(out)
    assert status == 0
    assert (result["states"], result["transitions"]) == (647, 1_554)
    assert (result["verdict"], result["violations"]) == ("the promises hold", [])


def test_too_many_states_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "system", "--max-states", "10")
    assert status == 2
    assert "more than 10 states: fewer consumers or faults, or a larger --max-states\n" in err


def test_an_unknown_version_of_the_system_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "system", "--profile", "0.10.0")
    assert status == 2
    assert err == "groupcheck: no consumers of version '0.10.0'; known: 2.7, 4.1\n"


def test_a_limit_of_generations_is_part_of_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "system", "--generations", "1")
    assert status == 0
    assert "unchecked  Every partition has exactly one owner in the end.\n" in out
    assert out.endswith("verdict    the promises hold, up to the limit of generations\n")


@pytest.mark.parametrize("port", ["client:kafka-python", "kafka-python"])
def test_a_client_that_is_given_as_a_coordinator_is_one_line_with_the_right_command(
    capsys: pytest.CaptureFixture[str], port: str
) -> None:
    status, _, err = run(capsys, "verify", port)
    assert status == 2
    assert err.endswith("is no coordinator; a client: groupcheck clients verify kafka-python\n")
