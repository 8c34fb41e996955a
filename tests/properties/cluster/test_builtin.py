"""groupcheck's own cluster does what the specification of brokers says, input by input."""

from __future__ import annotations

from random import Random

import pytest

from groupcheck.model.brokers import CREATE, DELIVER, HANDLE, ClusterInput
from groupcheck.model.cluster.specification import Brokers, instances
from groupcheck.model.cluster.state import Settings
from support.builtin_cluster import BuiltinCluster
from support.compared_clusters import View, Walk, differences, walks
from support.needs import needs_broker
from support.started_zookeeper import started_zookeeper

# Larger than those that can be explored: there is more that happens at once.
LARGER = {
    "many": Settings(
        brokers=3,
        topics=((1, 2, 3), (3, 2)),
        created=1,
        faults=8,
        requests=8,
        moves=True,
        isr=True,
        elects=True,
    ),
    "many-unclean": Settings(
        brokers=3,
        topics=((2,), (1, 2, 3)),
        created=2,
        faults=8,
        requests=8,
        moves=True,
        isr=True,
        unclean=True,
    ),
    "many-groups": Settings(
        brokers=3,
        topics=((3, 1, 2), (1, 2)),
        created=2,
        faults=8,
        requests=8,
        moves=True,
        isr=True,
        elects=True,
        groups=True,
    ),
    "many-sessions": Settings(
        brokers=2,
        topics=((2,), (1, 2)),
        created=1,
        faults=14,
        requests=8,
        kills=False,
        moves=True,
    ),
    "many-stopped": Settings(
        brokers=3,
        topics=((1, 2), (2, 3)),
        running=False,
        faults=6,
        requests=6,
        moves=True,
        isr=True,
        elects=True,
    ),
    "many-reassigned": Settings(
        brokers=3,
        topics=((1, 2), (3,)),
        created=2,
        faults=8,
        requests=12,
        moves=True,
        isr=True,
        elects=True,
        targets=((2, 3), (1, 2)),
        cancels=True,
    ),
}
OLDER_TOO = {f"{name}-2.4": each._replace(version="2.4") for name, each in LARGER.items()}
ALL = instances() | {name: Brokers(each) for name, each in (LARGER | OLDER_TOO).items()}
STEPS = 150
SLOW_STEPS = 200_000 // len(ALL) + 1
SEED = 27
ZOOKEEPER_STEPS = 300


def check(name: str, steps: int, seed: int = SEED) -> None:
    walked = walks(ALL[name], BuiltinCluster, Random(f"{name} {seed}"), steps=steps)
    assert walked.difference is None, f"\n{walked.difference}"
    assert walked.steps >= steps


@pytest.mark.parametrize("name", ALL)
def test_the_cluster_does_what_the_specification_says(name: str) -> None:
    check(name, STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_the_cluster_does_what_the_specification_says_in_200_000_steps(name: str) -> None:
    check(name, SLOW_STEPS)


def test_the_settled_cluster_is_the_initial_state_of_the_specification() -> None:
    for name, specification in ALL.items():
        walk = Walk(specification, BuiltinCluster(specification.settings))
        assert walk.compare() is None, name


@needs_broker("kafka:2.7")
def test_the_cluster_does_what_the_specification_says_on_zookeeper() -> None:
    with started_zookeeper() as roots:

        def on_zookeeper(settings: Settings) -> BuiltinCluster:
            roots.close()
            return BuiltinCluster(settings, roots.store())

        for name in ("deletion", "fencing", "many", "many-unclean", "many-groups"):
            walked = walks(ALL[name], on_zookeeper, Random(SEED), steps=ZOOKEEPER_STEPS)
            assert walked.difference is None, f"{name}\n{walked.difference}"


class WithoutIsr(BuiltinCluster):
    """Forgets the ISR of the first state of a topic."""

    def view(self) -> View:
        nodes, brokers, orphans = super().view()
        partitions = tuple(each and each._replace(isr=()) for each in nodes.partitions)
        return nodes._replace(partitions=partitions), brokers, orphans


def test_a_difference_is_reported_with_the_inputs_before_it_and_the_names_of_its_fields() -> None:
    settings = Settings(topics=((1, 2),), requests=1)
    walk = Walk(Brokers(settings), WithoutIsr(settings))
    assert walk.compare() is None
    assert walk.step(ClusterInput(CREATE, topic=0)) is None
    found = walk.step(ClusterInput(HANDLE, 1))
    assert found is not None
    assert found.fields == ("0.partitions.0.isr: specified (1, 2), observed ()",)
    assert str(found).splitlines()[1] == "  2. a broker handles its next controller event: broker 1"


def test_an_implementation_that_loses_a_request_is_found() -> None:
    class Losing(BuiltinCluster):
        """Takes each request of a controller from its channel, and does nothing with it."""

        def apply(self, given: ClusterInput) -> None:
            if given.name == DELIVER:
                channels = self.cluster.running(given.sender).controller.channels
                channels.queues[given.broker].popleft()
            else:
                super().apply(given)

    walked = walks(ALL["creation"], Losing, Random(SEED), steps=2_000)
    assert walked.difference is not None


def test_differences_names_what_is_not_equal() -> None:
    assert list(differences((1, (2, 3)), (1, (2, 4)))) == ["1.1: specified 3, observed 4"]
    assert list(differences((1, 2), (1,))) == [": specified (1, 2), observed (1,)"]
