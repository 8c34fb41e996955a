"""franz-go's assignors, in the program that is built from franz_main."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from groupcheck.model.assignors.group import Group, Member, Partition, Topic
from groupcheck.properties.assignors import franz
from groupcheck.properties.assignors.port import AssignorFailedError, ProgramPort
from support.needs import needs_assignors

pytestmark = needs_assignors("franz-go")

ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
TOPIC = Topic("t", (frozenset({"r0"}), frozenset({"r1"})) * 2)
OWNED = (Partition("t", 1), Partition("t", 3))  # without history, m0 gets 0 and 3


@pytest.fixture(scope="module")
def port() -> Iterator[ProgramPort]:
    opened = ProgramPort(franz.command(print))
    yield opened
    opened.shutdown()


def test_program_names_its_assignors_and_the_version_in_go_mod(port: ProgramPort) -> None:
    name, version, assignors = port.open()
    assert (name, assignors) == ("franz-go", ASSIGNORS)
    required = (franz.PROGRAM.folder / "go.mod").read_text()
    assert f"github.com/twmb/franz-go {version}\n" in required


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_every_partition_of_a_topic_that_exists_has_one_subscriber(
    port: ProgramPort, assignor: str
) -> None:
    members = (
        Member("m0", ("missing",)),
        Member("m1", ("missing", "t"), rack="r0"),
        Member("m2", ("t",), instance_id="i0"),
    )
    unused = TOPIC._replace(name="unused")
    assigned = port.assign(assignor, Group((TOPIC, unused), members))
    assert assigned["m0"] == ()
    assert {member: len(partitions) for member, partitions in assigned.items()} == {
        "m0": 0,
        "m1": 2,
        "m2": 2,
    }
    assert Counter(p for each in assigned.values() for p in each) == Counter(TOPIC.partitions)


@pytest.mark.parametrize(
    ("assignor", "generation"), [("sticky", None), ("sticky", 3), ("cooperative-sticky", 3)]
)
def test_member_keeps_the_partitions_that_it_owned(
    port: ProgramPort, assignor: str, generation: int | None
) -> None:
    members = (Member("m0", ("t",), owned=OWNED, generation=generation), Member("m1", ("t",)))
    assert port.assign(assignor, Group((TOPIC,), members))["m0"] == OWNED


def test_program_goes_on_after_an_error(port: ProgramPort) -> None:
    group = Group((TOPIC,), (Member("m0", ("t",)),))
    with pytest.raises(AssignorFailedError, match="unknown assignor"):
        port.assign("uniform", group)
    assert port.assign("range", group) == {"m0": TOPIC.partitions}
