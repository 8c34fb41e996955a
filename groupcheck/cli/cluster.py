"""`groupcheck cluster`: verify a real cluster of brokers, or explore its specification."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from groupcheck.cli.exit_status import (
    CONFORMS,
    DIVERGES,
    NO_VERDICT,
    CommandError,
    ending_with_message,
)
from groupcheck.cli.options import add_shared, add_table
from groupcheck.cli.output import print_run, save_findings
from groupcheck.numeric_options import NUMBERS, whole

if TYPE_CHECKING:
    from threading import Event

    from groupcheck.model.brokers import ClusterInput, Nodes
    from groupcheck.properties.brokers.apache import Release
    from groupcheck.properties.cluster.real.actions import Action
    from groupcheck.properties.cluster.real.driver import RealCluster
    from groupcheck.properties.cluster.real.oracle import Oracle
    from groupcheck.properties.cluster.real.verify import Verified

HELP = "check Kafka's promises on a real cluster, or on a model of one"

CLUSTERS: Final = """\
CLUSTER, for verify, is what is started for the run, and removed after it:
  kafka-cluster:2.7       ZooKeeper and three brokers of Apache Kafka 2.7
  kafka-cluster:2.4       the same, of Apache Kafka 2.4
  kafka-cluster:4.1       three brokers of Apache Kafka 4.1 that are the
                          controllers, too (KRaft)
  kafka-cluster:4.4       the same, of Apache Kafka 4.4

They need Java (8 or later, 17 or later for 4.1 and 4.4), Maven (mvn) to
download the jars once, and the packages of groupcheck[wire,cluster].

INSTANCE, for explore, is a model instance; docs/cluster.md lists them.

Exit status: 0 the promises hold, 1 one is violated, 2 there is no verdict."""

DESCRIPTION: Final = """\
verify starts a cluster and does random things to it: brokers are killed, paused and
started again, topics are created and deleted, a group commits offsets. With
ZooKeeper, it ends sessions, and /controller is deleted. When the cluster has
settled, checks what Kafka promises of the controller, the metadata of each
broker, the coordinator of the group and its offsets, and the folders on disk.
Prints each violation once, with the shortest sequence that shows it. explore
does that with every sequence in a model instance of Kafka's rules, 2.7 or 2.4."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck cluster`."""
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.description, command.epilog = DESCRIPTION, CLUSTERS
    command.add_argument("action", choices=("verify", "explore"), help="what to do")
    command.add_argument(
        "cluster", metavar="CLUSTER|INSTANCE", help="what to check, as listed below"
    )
    table = """
--sequences N    how many random sequences (20)
--seed N         the seed of the first one (0)
--time SECONDS   start no new sequence after this many seconds (no limit)
--sequence FILE  only the sequence of FILE, which --save has written
--save DIR       write the sequence of each finding to DIR
--profile VERSION  the version of Kafka whose rules explore uses, 2.7 or 2.4 (2.7)
"""
    numbers: dict[str, tuple[Callable[[str], object], object]] = {
        "sequences": (whole(1, 10**6), 20),
        "seed": (NUMBERS["seed"].parse, 0),
        "time": (whole(1, 10**6), 10**6),
        "profile": (str, "2.7"),
    }
    add_table(command, table, **numbers)
    add_shared(command, "json")


def run(options: argparse.Namespace) -> int:
    """Verify a real cluster, or explore a model instance.

    Raises:
        CommandError: the cluster or the instance is unknown, the cluster cannot be run, or a file
            cannot be read or written.
    """
    return _explore(options) if options.action == "explore" else _verify(options)


def _explore(options: argparse.Namespace) -> int:
    from groupcheck.model.cluster.sources import TAGS, VERSION
    from groupcheck.model.cluster.specification import instances
    from groupcheck.model.engine.exploration import explore
    from groupcheck.properties.interruption import interruptible
    from groupcheck.reports.cluster_space import ClusterSpace, space_json, space_text
    from groupcheck.reports.progress import Bars

    if options.profile not in TAGS:
        msg = f"no rules of Kafka {options.profile}; known: {', '.join(TAGS)}"
        raise CommandError(msg)
    name = options.cluster
    if options.profile != VERSION and not name.endswith(f"-{options.profile}"):
        name += f"-{options.profile}"
    instance = instances().get(name)
    if instance is None:
        msg = f"no instance {name!r}; known: {', '.join(instances())}"
        raise CommandError(msg)
    with interruptible(), Bars() as bars:
        result = ClusterSpace.of(name, explore(instance, bars("states", None)))
    print_run(result, space_json, space_text, as_json=options.json)
    return DIVERGES if result.violations else CONFORMS


def _verify(options: argparse.Namespace) -> int:
    from groupcheck.properties.brokers.definition import to_stderr
    from groupcheck.properties.cluster.real.processes import RULES_OF, release_of
    from groupcheck.properties.cluster.real.sequence_file import read_sequence, write_sequence
    from groupcheck.properties.finding_file import MalformedFileError
    from groupcheck.properties.interruption import InterruptedWait, interruptible
    from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError
    from groupcheck.reports.cluster import ClusterRun, finding_id, run_json, run_text

    errors = (PortFailedError, PortUnavailableError)
    with ending_with_message(*errors, action="run the cluster"):
        release = release_of(options.cluster)
    zookeeper, file = release.has_zookeeper, options.sequence
    with ending_with_message(MalformedFileError, action=f"read {file}"):
        only = None if file is None else read_sequence(file, zookeeper=zookeeper)
    with (
        ending_with_message(*errors, action="run the cluster"),
        interruptible() as check,
        _running(release, InterruptedWait(check)) as cluster,
    ):
        to_stderr(f"a cluster of {release.title} runs")
        rules = RULES_OF[release.minor]
        oracle = _oracle(rules) if rules else None
        verified = _verified(options, cluster, only, oracle)
    seed = options.seed if only is None else None
    result = ClusterRun(
        options.cluster,
        release.title,
        seed,
        verified,
        oracle is not None,
        zookeeper,
    )
    print_run(result, run_json, run_text, as_json=options.json)
    files = {
        finding_id(each.violation): partial(
            write_sequence, cluster=result.spec, actions=each.trace.actions
        )
        for each in verified.findings.values()
    }
    save_findings(options.save, files)
    if verified.findings or verified.failures or verified.left_on_disk:
        return DIVERGES
    return NO_VERDICT if verified.interrupted or not verified.sequences else CONFORMS


@contextmanager
def _running(release: Release, interrupted: Event) -> Iterator[RealCluster]:
    """The cluster, which ends with the block, also when the block is interrupted."""
    from groupcheck.properties.brokers.definition import to_stderr
    from groupcheck.properties.cluster.real.driver import RealCluster

    cluster = RealCluster(release, interrupted, to_stderr)
    try:
        yield cluster
    finally:
        cluster.stop()


def _oracle(version: str) -> Oracle:
    """What the specification allows, with the rules of a version."""
    from groupcheck.model.cluster.state import Settings
    from groupcheck.properties.cluster.real.actions import ASSIGNMENTS, TARGETS
    from groupcheck.properties.cluster.settled import TooManyStatesError, allowed

    settings = Settings(
        brokers=3,
        topics=ASSIGNMENTS,
        faults=99,
        requests=99,
        moves=True,
        isr=True,
        elects=True,
        targets=TARGETS,
        cancels=True,
        version=version,
    )

    def oracle(inputs: Sequence[ClusterInput]) -> Collection[Nodes] | None:
        try:
            return allowed(settings, inputs)
        except TooManyStatesError:
            return None

    return oracle


def _verified(
    options: argparse.Namespace,
    cluster: RealCluster,
    only: tuple[Action, ...] | None,
    oracle: Oracle | None,
) -> Verified:
    from groupcheck.properties.cluster.real.verify import Limits, verify, verify_sequences
    from groupcheck.reports.progress import Bars

    limits = Limits(options.sequences, options.time)
    if only is not None:
        limits = Limits(1, options.time, disk_s=0)
    with Bars() as bars:
        progress = bars("sequences", limits.sequences)
        if only is not None:
            return verify_sequences(cluster, iter([only]), limits, progress, oracle)
        return verify(cluster, options.seed, limits, progress, oracle)
