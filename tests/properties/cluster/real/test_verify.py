"""Verifying a cluster, on an object that stands for one: findings, failures, what is minimised."""

from __future__ import annotations

import json

from groupcheck.model.brokers import CREATE, ELECT, KILL, MOVE, ClusterInput
from groupcheck.properties.cluster.real.actions import Action
from groupcheck.properties.cluster.real.verify import (
    CLEANING,
    RECOVERY,
    Limits,
    Verified,
    trace_of,
    verify,
    verify_sequences,
)
from groupcheck.properties.cluster.real.views import ClusterView, nodes
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError
from groupcheck.reports.cluster import ClusterRun, run_json, run_text, verdict

CREATED, KILLED, MOVED = (
    Action(ClusterInput(CREATE, topic=0)),
    Action(ClusterInput(KILL, broker=3)),
    Action(ClusterInput(MOVE)),
)
LIMITS = Limits(sequences=5, time_s=60, disk_s=1)


class Cluster:
    """A cluster that is as it was, or that loses its controller after these inputs."""

    has_zookeeper = True
    ends = ""  # the action during which a broker ends by itself

    def __init__(self, view: ClusterView, *, faulty: frozenset[ClusterInput] = frozenset()) -> None:
        self.view = view
        self.faulty = faulty
        self.done: list[ClusterInput] = []
        self.restarts = 0
        self.left: list[str] = []

    def begin(self) -> ClusterView:
        self.done = []
        return self.view

    def is_possible(self, given: ClusterInput) -> bool:
        return given.name != ELECT

    def do(self, given: ClusterInput) -> str:
        if given.name == self.ends:
            kind, reason, log = "port crashed", "broker-1-1 ended (status 1)", "FATAL: it halts"
            raise PortFailedError(kind, reason, log)
        self.done.append(given)
        return "error 15" if given.name == MOVE else ""

    def settle(self) -> list[ClusterView]:
        wrong = bool(self.faulty) and self.faulty <= set(self.done)
        return [self.view._replace(controller=0, controller_node=0) if wrong else self.view]

    def recover(self) -> list[ClusterView]:
        return self.settle()

    def clean(self) -> list[ClusterView]:
        return self.settle()

    def restart(self) -> None:
        self.restarts += 1

    def left_on_disk(self, _bound_s: float) -> list[str]:
        return self.left


def _result(cluster: Cluster, *actions: Action, limits: Limits = LIMITS) -> Verified:
    return verify_sequences(cluster, iter([actions]), limits, lambda _: None)


def _run(result: Verified) -> ClusterRun:
    return ClusterRun("kafka-cluster:2.7", "Apache Kafka 2.7.2", 3, result)


def test_a_cluster_that_keeps_its_promises_has_no_finding(settled: ClusterView) -> None:
    result = verify(Cluster(settled), 1, LIMITS, lambda _: None)
    assert (result.sequences, result.findings, result.failures) == (5, {}, [])
    assert verdict(_run(result)) == "no promise is broken in what was tried"


def test_a_sequence_ends_with_all_brokers_running_and_all_topics_deleted(
    settled: ClusterView,
) -> None:
    elect = Action(ClusterInput(ELECT, topic=0))
    trace = trace_of(Cluster(settled), [CREATED, elect, MOVED], None)
    assert trace.actions == (CREATED, MOVED)
    assert [step.words for step in trace.steps] == [
        str(CREATED),
        str(MOVED),
        RECOVERY,
        CLEANING,
    ]


def test_a_finding_has_only_the_actions_that_it_needs(settled: ClusterView) -> None:
    cluster = Cluster(settled, faulty=frozenset({CREATED.given, KILLED.given}))
    other = Action(ClusterInput(CREATE, topic=1))
    result = _result(cluster, other, CREATED, MOVED, other, KILLED, MOVED)
    (finding,) = result.findings.values()
    assert finding.minimised
    assert finding.trace.actions == (CREATED, KILLED)
    assert finding.violation.words == "there is no controller"
    text = run_text(_run(result))
    assert "Not so: There is a controller while a broker runs; without ZooKeeper, while" in text
    assert "    2. a broker is killed: broker 3\n      controller: none, epoch 1;" in text
    assert text.endswith("verdict    a promise is violated: 1 finding\n")


def test_the_time_to_minimise_is_bounded(settled: ClusterView) -> None:
    cluster = Cluster(settled, faulty=frozenset({KILLED.given}))
    result = _result(cluster, CREATED, KILLED, limits=LIMITS._replace(minimise_s=0))
    (finding,) = result.findings.values()
    assert not finding.minimised
    assert finding.trace.actions == (CREATED, KILLED)


def test_a_violation_that_two_sequences_show_is_one_finding(settled: ClusterView) -> None:
    cluster = Cluster(settled, faulty=frozenset({KILLED.given}))
    result = verify_sequences(cluster, iter([(KILLED,)] * 2), LIMITS, lambda _: None)
    (finding,) = result.findings.values()
    assert finding.sequences == 2
    assert cluster.restarts > 0


def test_a_broker_that_ends_by_itself_is_a_failure_and_another_cluster_is_started(
    settled: ClusterView,
) -> None:
    cluster = Cluster(settled)
    cluster.ends = KILL
    result = _result(cluster, CREATED, KILLED)
    assert cluster.restarts == 1
    text = run_text(_run(result))
    assert "Failure: broker-1-1 ended (status 1)\n    1. a topic is created: topic 0\n" in text
    assert "    FATAL: it halts\n" in text
    assert text.endswith("verdict    a promise is violated: 0 findings, 1 failure\n")


def test_a_folder_that_is_left_on_disk_is_reported(settled: ClusterView) -> None:
    cluster = Cluster(settled)
    cluster.left = ["data-1/t1-0-0.4a-delete"]
    result = _result(cluster, CREATED)
    text = run_text(_run(result))
    assert "on disk    a deleted topic's folder is left: data-1/t1-0-0.4a-delete\n" in text
    assert text.endswith("0 findings, 1 folder of deleted topics left\n")


class InterruptedCluster(Cluster):
    """Ctrl-C comes during the first action."""

    def do(self, given: ClusterInput) -> str:
        del given
        raise KeyboardInterrupt


def test_an_interruption_ends_the_run_with_what_was_found(settled: ClusterView) -> None:
    result = _result(InterruptedCluster(settled), CREATED)
    assert result.interrupted
    assert verdict(_run(result)) == "none: interrupted"


class LostCluster(Cluster):
    """A broker ends by itself, and no other cluster can be started."""

    ends = KILL

    def restart(self) -> None:
        msg = "a cluster does not start"
        raise PortUnavailableError(msg)


def test_a_cluster_that_cannot_be_replaced_ends_the_run_with_what_was_found(
    settled: ClusterView,
) -> None:
    result = verify_sequences(
        LostCluster(settled), iter([(CREATED,), (KILLED,), (CREATED,)]), LIMITS, lambda _: None
    )
    assert result.sequences == 2
    assert [each.reason for each in result.failures] == [
        "broker-1-1 ended (status 1)",
        "a cluster does not start",
    ]


def test_no_other_sequence_begins_after_the_time(settled: ClusterView) -> None:
    result = verify(Cluster(settled), 1, LIMITS._replace(time_s=-1), lambda _: None)
    assert verdict(_run(result)) == "none: nothing was tried"


def test_a_view_that_the_specification_does_not_allow_is_a_finding(settled: ClusterView) -> None:
    allowed = [nodes(settled)]
    limits = LIMITS._replace(minimise_s=0)
    result = verify_sequences(
        Cluster(settled),
        iter([(CREATED, MOVED)]),
        limits,
        lambda _: None,
        lambda inputs: allowed if len(inputs) < 2 else [allowed[0]._replace(controller_epoch=2)],
    )
    (finding,) = result.findings.values()
    assert finding.violation.words == "not allowed: controller epoch 1 instead of 2"
    text = run_text(_run(result)._replace(has_oracle=True))
    assert "the nodes of 2 views" in text
    assert "Not so: The nodes are those that the specification allows.\n" in text


def test_the_result_as_json_has_each_step_with_its_view(settled: ClusterView) -> None:
    cluster = Cluster(settled, faulty=frozenset({MOVED.given}))
    result = run_json(_run(_result(cluster, MOVED)))
    assert json.loads(json.dumps(result)) == result
    (finding,) = result["findings"]
    first, then = finding["steps"]
    assert (first["action"], then["action"], then["error"]) == ("", str(MOVED), "error 15")
    assert then["view"][0] == "controller: none, epoch 1; registered: 1 2 3"
    assert finding["violations"][0] == {"promise": "controller", "words": "there is no controller"}
