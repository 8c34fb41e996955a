"""The fast path and the oracle agree on verdicts, findings, tables and states."""

from __future__ import annotations

import json
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.needs import needs_packages

needs_packages("pandas", "pyarrow", "pyspark")

from groupcheck.model.bodies import encode  # noqa: E402
from groupcheck.model.classic.instances.inputs import GROUP_ID  # noqa: E402
from groupcheck.model.vocabulary import (  # noqa: E402
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from groupcheck.pipeline.event_columns import Events  # noqa: E402
from groupcheck.pipeline.recordings.steady_state import SteadyState  # noqa: E402
from groupcheck.properties.histories.events import Event  # noqa: E402
from support.production import VERSIONS, Happened, Production  # noqa: E402
from support.replayed import Rows, all_rows, as_events, at_once, one_by_one  # noqa: E402

PROFILES = ("0.10.0", "0.10.2", "2.7", "4.1")
APIS = ("Heartbeat", "OffsetCommit", "JoinGroup", "SyncGroup")


def same(events: list[Event], size: int = 1_000) -> Rows:
    """The rows, which are the same for both."""
    slowly, quickly = one_by_one(events), at_once(events, size)
    rows = all_rows(slowly)
    assert all_rows(quickly) == rows
    if "rejected" not in repr(rows):
        assert quickly.checker.checker.run.oracle.states == slowly.checker.checker.run.oracle.states
    return rows


def corrupted(happened: list[Happened], random: Random) -> list[Happened]:
    """The history with one event changed."""
    at = random.randrange(len(happened))
    each = happened[at]
    match random.randrange(6):
        case 0:  # another body
            said = [e.body for e in happened if (e.kind, e.api) == (each.kind, each.api)]
            changed = [each._replace(body=random.choice(said))]
        case 1:  # missing; a request also without its response
            gone = {"request", "response"} if each.kind == "request" else {"response"}
            return [e for e in happened if e.number != each.number or e.kind not in gone]
        case 2:  # later, like all events after it
            late_ms = random.choice((1, 3_000, 50_000))
            later = [e._replace(at_ms=e.at_ms + late_ms) for e in happened[at:]]
            return [*happened[:at], *later]
        case 3:  # another member, or generation
            body = each.body.replace("#1", "#2").replace('"generationId":1', '"generationId":2')
            changed = [each._replace(body=body)]
        case 4:  # swapped with the event before it
            before = happened[max(at - 1, 0)]
            if before.number == each.number:
                return happened
            changed = [each._replace(at_ms=before.at_ms), before]
            return [*happened[: max(at - 1, 0)], *changed, *happened[at + 1 :]]
        case _:  # another error
            error = random.choice((0, 16, 22, 25, 27, 79))
            body = each.body.replace('"errorCode":0', f'"errorCode":{error}')
            changed = [each._replace(body=body)]
    return [*happened[:at], *changed, *happened[at + 1 :]]


@pytest.mark.parametrize("profile", PROFILES)
def test_the_fast_path_checks_a_group_in_production_as_the_oracle_does(profile: str) -> None:
    for seed in range(2):
        happened = Production(Random(seed), profile).go(1_000)
        rows = same(as_events(happened, profile), (7, 5_000)[seed])
        assert any("('verdict', 'accepted')" in row for name, row in rows if name == "verdict")


def spoilt_last(happened: list[Happened], kind: str) -> list[Happened]:
    """The history up to the last response of that API, changed to another error."""
    at = max(n for n, e in enumerate(happened) if (e.kind, e.api) == ("response", kind))
    body = happened[at].body.replace('"errorCode":0', '"errorCode":16')
    assert body != happened[at].body
    return [*happened[:at], happened[at]._replace(body=body)]


@pytest.mark.parametrize(
    ("api", "profile", "histories"),
    [
        *((api, profile, 1) for api, profile in zip(APIS, PROFILES, strict=True)),
        *(pytest.param(*pair, 3, marks=pytest.mark.slow) for pair in product(APIS, PROFILES)),
    ],
)
def test_the_recording_of_a_finding_omits_heartbeats_and_commits_that_change_nothing(
    api: str, profile: str, histories: int
) -> None:
    for seed in range(histories):
        happened = spoilt_last(Production(Random(seed), profile).go(1_000), api)
        events = as_events(happened, profile)
        same(events)
        (row,) = (row for name, row in at_once(events).end() if name == "finding")
        if len(happened) > 400:
            assert row["omitted"] > len(happened) / 2
            assert row["recording"].count("JoinGroup") == sum(
                (e.kind, e.api) == ("request", "JoinGroup") for e in happened
            )


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(PROFILES), st.integers(1, 700))
def test_the_fast_path_checks_a_corrupted_history_as_the_oracle_does(
    seed: int, profile: str, size: int
) -> None:
    random = Random(seed)
    happened = Production(random, profile).go(300)
    for _ in range(random.randint(1, 2)):
        happened = corrupted(happened, random)
    same(as_events(happened, profile), size)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 300))
def test_the_fast_path_checks_a_group_that_rebalances_often_as_the_oracle_does(
    seed: int, size: int
) -> None:
    same(as_events(Production(Random(seed), steady_ms=10_000).go(200)), size)


def test_the_fast_path_checks_most_events_of_a_group_in_production(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[int] = []
    run = SteadyState.run

    def counted(self: SteadyState, events: Events, start: int) -> int:
        end = run(self, events, start)
        done.append(end - start)
        return end

    monkeypatch.setattr(SteadyState, "run", counted)
    at_once(as_events(Production(Random(5)).go(4_000)))
    assert sum(done) > 0.9 * 4_000


def steady() -> list[Happened]:
    """A history that ends in the steady state."""
    happened = Production(Random(8)).go(600)
    assert {each.api for each in happened[-20:]} <= {"Heartbeat", "OffsetCommit"}
    return happened[: 600 - (happened[-1].kind == "request")]


def more(happened: list[Happened], in_ms: int, api: str, body: str, answer: str) -> list[Happened]:
    """The history with one more request, and its answer."""
    last = max(each.number for each in happened) + 1
    at_ms, version = happened[-1].at_ms + in_ms, VERSIONS["2.7"][api]
    asked = (last, api, version, "consumer-1")
    return [
        *happened,
        Happened(at_ms, "request", *asked, body),
        Happened(at_ms, "response", *asked, answer),
    ]


def test_the_fast_path_ends_before_a_session_expires() -> None:
    happened = steady()
    beat = [each for each in happened if each.api == "Heartbeat"][-2:]
    for late_ms, verdict in ((40_000, "accepted"), (60_000, "rejected")):
        late = more(happened, late_ms, "Heartbeat", beat[0].body, beat[1].body)
        late = more(late, 1, "Heartbeat", beat[0].body, beat[1].body)  # completes the pair
        assert any(f"('verdict', '{verdict}')" in row for _, row in same(as_events(late)))


def test_commits_with_other_offsets_are_the_same_pair() -> None:
    happened = steady()
    commit = [each for each in happened if each.api == "OffsetCommit"][-2:]
    body = json.loads(commit[0].body)
    for offset in (0, 7, 10**17, 10**18, -1, 2**63 - 1):
        for each in body["topics"][0]["partitions"]:
            each["committedOffset"] = offset
        text = json.dumps(body, separators=(",", ":"))
        happened = more(happened, 1_000, "OffsetCommit", text, commit[1].body)
    same(as_events(happened))


def test_metadata_that_looks_like_an_offset_is_metadata() -> None:
    happened = steady()
    answer = [each for each in happened if each.api == "OffsetCommit"][-1].body
    last = json.loads([each for each in happened if each.api == "Heartbeat"][-2].body)
    for n in range(6):
        seems = '{"committedOffset":5,"x":1}' if n % 2 else '{"committedOffset":6,"x":1}'
        partitions = tuple(
            OffsetCommitRequestPartition(each["partitionIndex"], n, committed_metadata=seems)
            for each in json.loads(answer)["topics"][0]["partitions"]
        )
        topics = (OffsetCommitRequestTopic("orders", partitions),)
        body = OffsetCommitRequest(GROUP_ID, last["generationId"], last["memberId"], topics=topics)
        text = json.dumps(encode(body, 7), separators=(",", ":"))
        happened = more(happened, 100, "OffsetCommit", text, answer)
    same(as_events(happened))
