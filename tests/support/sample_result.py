"""A small result record with every part that a renderer of `verify` prints."""

from __future__ import annotations

from typing import Final

import msgspec

from groupcheck.properties.coverage.curve import Point
from groupcheck.properties.result import (
    InstanceCoverage,
    Outage,
    Pairs,
    Stage,
    Tours,
    TransitionCounts,
)
from groupcheck.reports.record import (
    Answer,
    Compared,
    Expected,
    FindingRecord,
    Phase,
    Property,
    ResultRecord,
    RuleCoverage,
    Run,
    Step,
)
from groupcheck.reports.terminal import verdict

replace = msgspec.structs.replace

FINDING: Final = FindingRecord(
    id="0123abcd",
    port="exec:./port",
    title="differs from Apache Kafka 2.7.2: Heartbeat v4 in Stable: no error",
    kafka="Apache Kafka 2.7.2",
    steps=(
        Step(
            text="Heartbeat v4, 50 % of: a",
            sender="unknown member 'x'",
            answers=(Answer(kind="wrong", step=1, text="no error"),),
        ),
    ),
    observed="to step 1: no error",
    expected=(Expected(answer="to step 1: an error", because="it is so [One.scala:2]"),),
    property=Property(name="a-property", description="it holds", source="One.scala:1"),
    trace=({"type": "open", "trace": 1},),
    states=({"group.state": "Stable"}, {"group.state": "Stable"}),
    compared=(Compared(field="errorCode", observed="no error", allowed="an error"),),
)
OTHER: Final = replace(FINDING, id="4567cdef", title="port crashed: it exited", property=None)

OUTCOMES: Final = "aahnd"
RUN: Final = Run(
    port="exec:./port",
    groupcheck="0.1",
    python="3.11.7",
    started="2026-01-01T00:00:00+00:00",
    seconds=61.5,
    sequences=1_000,
    steps=30_000,
    ended_early="",
    settings={"profile": "2.7", "seed": 7},
    tolerances={"late_ms": 1_000, "early_ms": 50, "answer_ms": 5_000, "grace_ms": 30},
    curve=(Point(0.5, 100, 2), Point(61.5, 30_000, 3)),
    stages=(Stage("random", 1_000, 30_000, 2, 60.0),),
    outages=(Outage(3.0, 2.5, "closed the connection"), Outage(60.0, None, "did not answer")),
    phases=(Phase(name="exploring the model", seconds=1.5),),
)
UNJUDGED: Final = ResultRecord(
    port="exec:./port",
    profile="2.7",
    kafka="Apache Kafka 2.7.2",
    conforms=False,
    sequences=1_000,
    steps=30_000,
    seconds=61.5,
    unsupported=("static members",),
    assumed_defaults=("offset.metadata.max.bytes=4096",),
    findings=(FINDING, OTHER),
    findings_truncated=3,
    findings_not_reproduced=1,
    instances=(
        InstanceCoverage(
            name="metadata",
            members=2,
            states=24,
            depth=8,
            transitions=TransitionCounts.of(OUTCOMES),
            outcomes=OUTCOMES,
            tours=Tours(2, 60, 50),
            broker={"group.max.size": 2},
            digest="d1",
            group_transitions={"absent -> Empty": 4},
        ),
    ),
    pairs=(Pairs(instance="metadata", pairs=TransitionCounts.of("aam"), tours=Tours(1, 9, 9)),),
    rules=RuleCoverage(applied=("a/one",), not_applied=("a/two",), guard_false=("a/one",)),
    runs=(RUN,),
)
SAMPLE: Final = replace(UNJUDGED, verdict=verdict(UNJUDGED))
# The baseline has the first finding and one that is gone, and covers one transition more.
BASELINE: Final = replace(
    SAMPLE,
    findings=(FINDING, replace(FINDING, id="89abef01", title="another finding")),
    instances=(
        replace(SAMPLE.instances[0], outcomes="aahna", transitions=TransitionCounts.of("aahna")),
    ),
)
