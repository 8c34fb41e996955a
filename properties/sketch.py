"""What the state machine chooses from: values, the versions a port speaks, and requests of them.

How requests follow upon each other is not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from hypothesis import strategies as st

from groupcheck.model.clients import GROUP_ID, NOBODY
from groupcheck.model.state import Group
from groupcheck.model.step import Profile
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import (
    API_OF,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetFetchRequest,
    Protocol,
    Request,
    RequestBody,
    SyncGroupRequest,
)
from groupcheck.properties.ports.port import Fault, Port, PortFailedError

PROTOCOL_LISTS: tuple[tuple[Protocol, ...], ...] = (
    (Protocol("range", b"r"),),
    (Protocol("range", b"r"), Protocol("roundrobin", b"rr")),
    (Protocol("roundrobin", b"rr"), Protocol("range", b"r")),
    (Protocol("range", b"changed"),),
    (Protocol("sticky", b"s"),),
    (),
)
# Of 31 picks the odd ones are the last: a group that nobody can join shows nothing.
SESSION_TIMEOUTS_MS = (*(10_000,) * 22, 30_000, 30_000, 20_000, 6_000, 6_000, 5_999, 5_999, 1, 1)
REBALANCE_TIMEOUTS_MS = (*(20_000,) * 10, *(3_000,) * 7, *(60_000,) * 7, *(400_000,) * 4, 0, 0, 0)
METADATA = ("", "m", None, "m" * 9_000, "\N{MUSICAL SYMBOL G CLEF}" * 2)  # 4 units of UTF-16

# What a port is asked to see whether it speaks it, by somebody it does not know.
ASKED: tuple[RequestBody, ...] = (
    JoinGroupRequest(GROUP_ID, 10_000, 20_000, NOBODY, protocols=PROTOCOL_LISTS[0]),
    SyncGroupRequest(GROUP_ID, 0, NOBODY),
    HeartbeatRequest(GROUP_ID, 0, NOBODY),
    LeaveGroupRequest(GROUP_ID, (MemberIdentity(NOBODY),)),
    OffsetCommitRequest(GROUP_ID, 0, NOBODY),
    OffsetFetchRequest(GROUP_ID, ()),
    DescribeGroupsRequest((GROUP_ID,)),
)

versions = st.integers(0, 20)  # folded into what the port speaks
picks = st.integers(0, 30)  # folded into what there is to pick from
# Settings of the broker; None is Kafka's default.
brokers = st.fixed_dictionaries(
    {
        "group.initial.rebalance.delay.ms": st.sampled_from((None, 0, 1_000, 10_000)),
        "group.min.session.timeout.ms": st.sampled_from((None, None, None, 1, 10_000)),
        "group.max.session.timeout.ms": st.sampled_from((None, None, None, 10_000, 20_000)),
        "offset.metadata.max.bytes": st.sampled_from((None, None, 3, 0)),
    }
).map(lambda settings: {name: value for name, value in settings.items() if value is not None})

# The faults that are sent by chance.
HOLDING: Final = ("holdAppends", "releaseAppends")


class Offer(NamedTuple):
    """What a member joins with, as picks."""

    protocols: int
    session: int
    rebalance: int
    kind: int

    def request(self, member_id: str) -> JoinGroupRequest:
        """The JoinGroup of the member."""
        return JoinGroupRequest(
            GROUP_ID,
            SESSION_TIMEOUTS_MS[self.session],
            REBALANCE_TIMEOUTS_MS[self.rebalance],
            member_id,
            protocol_type={30: "connect", 29: ""}.get(self.kind, "consumer"),
            protocols=PROTOCOL_LISTS[self.protocols % 6],
        )


offers = st.builds(Offer, picks, picks, picks, picks)


class Spoken(NamedTuple):
    """What a port speaks of a profile: the versions of each API, newest first, and the faults."""

    versions: Mapping[str, tuple[int, ...]]
    faults: bool = True


class Sketch:
    """Builds requests out of the present state; picks fold into what there is to pick from."""

    def __init__(self, speaks: Spoken) -> None:
        self.speaks = speaks
        self.request_id = 0
        self.given: list[str] = []  # every id that was ever told, the dead ones too

    def request(self, body: RequestBody, version: int, client: int = 0) -> Request:
        """The request at one of the versions that the port speaks, the newest for pick 0."""
        self.request_id += 1
        spoken_versions = self.speaks.versions[API_OF[type(body)]]
        api_version = spoken_versions[version % len(spoken_versions)]
        if isinstance(body, LeaveGroupRequest) and api_version < 3:
            body = body._replace(members=body.members[:1])
        if isinstance(body, OffsetFetchRequest) and api_version < 2 and body.topics is None:
            body = body._replace(topics=())
        return Request(self.request_id, api_version, trim(body, api_version), f"client-{client}")

    def member(self, pick: int) -> str:
        """One of the ids that were ever told, the newest for pick 0, or one that never was."""
        return [*reversed(self.given), NOBODY][pick % (len(self.given) + 1)]

    def generation(self, group: Group, pick: int) -> int:
        """Mostly the current generation, else an old, a coming or no generation."""
        return (group.generation_id, group.generation_id, -1, group.generation_id + 1, 0)[pick % 5]


def spoken(port: Port, profile: Profile) -> Spoken:
    """Ask a port for everything once, so that no test is spent on what it does not support.

    Raises:
        PortUnavailableError: the port cannot be reached.
    """
    everything = Spoken(
        {
            api: tuple(range(newest, profile.min_versions.get(api, 0) - 1, -1))
            for api, newest in profile.max_versions.items()
        },
        profile.holds_appends,
    )
    sketch = Sketch(everything)

    def speaks(body: RequestBody, pick: int) -> bool:
        return port.request(sketch.request(body, pick), ()).unsupported is None

    try:
        port.open(profile.name, {})
        versions = {
            API_OF[type(body)]: tuple(
                version
                for pick, version in enumerate(everything.versions[API_OF[type(body)]])
                if speaks(body, pick)
            )
            for body in ASKED
        }
        names = HOLDING if profile.holds_appends else ()
        faults = [port.fault(Fault(name), ()).unsupported for name in names]
        port.close()
    except PortFailedError:
        return everything  # a test will fail in the same way, and tell how
    return Spoken(versions, profile.holds_appends and not any(faults))
