"""What a server recorded of its coordinator, judged group by group; nothing is asked anew.

A recording holds the messages of the port protocol both ways, of many groups, with the ids that
were really used (`groupcheck serve --record`). The model holds one group. So each group is told
apart: what was asked about it, what was answered, and the time between.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from groupcheck.model.bodies import (
    Json,
    MalformedBodyError,
    decode_request,
    decode_response,
    shown,
)
from groupcheck.model.config import SETTINGS
from groupcheck.model.exploring.canonical import rename
from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.clients import NOBODY
from groupcheck.model.state import Advance, Cleanup, HoldAppends, ReleaseAppends
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request, Response
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.histories.one_group import part, parts, without
from groupcheck.properties.histories.retold import Playback
from groupcheck.properties.ports.port import Observation
from groupcheck.properties.run import FoundError, Run
from groupcheck.properties.sequence import (
    MalformedTraceError,
    header,
    member_ids,
    outside_the_model,
)

# Why nothing can be said of a group that a server found in its log.
BEFORE = "it was there before the recording began"


class Exchange(NamedTuple):
    """Something that was asked about a group, or time that passed, and what was answered then."""

    given: Input
    answers: list[Response]


class Recorded(NamedTuple):
    """What was recorded of one group in one session.

    `cut` says why nothing is known of it from some moment on: something was asked that the model
    does not have.
    """

    group_id: str
    profile: str
    broker: Mapping[str, int]
    exchanges: list[Exchange]
    cut: str | None = None


class Judged(NamedTuple):
    """What came of a recording: how many groups and steps, the first finding, and what was cut."""

    groups: int
    steps: int
    group_id: str = ""
    finding: Finding | None = None
    cut: tuple[str, ...] = ()


def judge(recordings: list[Recorded]) -> Judged:
    """Hold what was recorded of each group to the model, up to the first finding."""
    steps = 0
    for each in recordings:
        finding = judge_group(each)
        if finding is not None:
            return Judged(len(recordings), steps, each.group_id, finding)
        steps += len(each.exchanges)
    cut = tuple(f"group {shown(each.group_id)}: {each.cut}" for each in recordings if each.cut)
    return Judged(len(recordings), steps, cut=cut)


def judge_text(text: str) -> Judged:
    """The same of the lines of a recording.

    Raises:
        MalformedTraceError: with the line and what is wrong with it.
    """
    return judge(read(text.encode().splitlines(keepends=True), "recording"))


def judge_group(recorded: Recorded) -> Finding | None:
    """Hold what was recorded of one group to the model; the finding that it ends in, if any."""
    judge = GroupJudge(recorded.profile, recorded.broker)
    try:
        for given, answers, held in _exchanges(recorded):
            judge.take(given, answers, held)
    except FoundError as found:
        return found.finding
    return None


class GroupJudge:
    """Holds to the model what was recorded of one group, exchange by exchange."""

    def __init__(self, profile: str, broker: Mapping[str, int]) -> None:
        self.judged = True  # whether the last exchange was
        self.begin(profile, broker)

    def begin(self, profile: str, broker: Mapping[str, int]) -> None:
        """Begin, or begin anew: there is no group."""
        self._port = _RecordedPort()
        self.run = Run(self._port, PROFILES[profile], broker)

    def take(self, given: Input, answers: list[Response], held: list[Response]) -> None:
        """Go on by one exchange; `held` is answered at the release that it may have waited for.

        Raises:
            FoundError: it is not lawful.
        """
        run, port = self.run, self._port
        port.held = held
        if not isinstance(given, Request):
            port.next = Observation(tuple(answers))
            run.step(given)
            return
        # Whoever has an id that nobody was told has it from before, and is nobody here.
        known = run.oracle.names
        names = {name: known.get(name, NOBODY) for name in member_ids(given.body) if name}
        strangers = names.keys() - known.keys()
        told = [a._replace(body=without(a.body, strangers)) for a in answers]
        port.next = Observation(tuple(told))
        run.step(given._replace(body=rename(given.body, names, 0)))

    def forget(self, most: int) -> None:
        """Keep the last exchanges alone, so many or twice as many: a finding begins with them.

        Of what came before the requests that have not been answered are known.
        """
        run = self.run
        if len(run.exchanges) < 2 * most:
            return
        for exchange in run.exchanges[:-most]:
            for response in exchange.seen.responses:
                run.oracle.requests.pop(response.request_id, None)
        del run.exchanges[:-most]


def _exchanges(recorded: Recorded) -> list[tuple[Input, list[Response], list[Response]]]:
    """Each exchange, and what was answered at the release that it may have waited for.

    Where answers wait they do for what any group of the partition has written, of which a group
    alone knows nothing. What the model answers at once is then taken from the release.
    """
    found = []
    held: list[Response] = []
    waits = PROFILES[recorded.profile].traits.answers_wait
    for given, answered in reversed(recorded.exchanges):
        answers = [*answered]
        found.append((given, answers, held))
        if waits and isinstance(given, ReleaseAppends):
            held = answers
        elif isinstance(given, HoldAppends):
            held = []
    return found[::-1]


class _RecordedPort(Playback):
    """A port that has been: it tells what is put into `next`, whatever it is asked."""

    def __init__(self) -> None:
        super().__init__(())
        self.next = Observation()
        self.held: list[Response] = []  # for which other groups may be the reason

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """What was answered then, or at the release for the sake of another group."""
        del request
        told = {answer.request_id for answer in self.next.responses}
        early = [answer for answer in self.held if answer.request_id in {*expected} - told]
        for answer in early:
            self.held.remove(answer)
        return self.next._replace(responses=(*self.next.responses, *early))

    def _next(self) -> Observation:
        return self.next


def load(path: Path) -> list[Recorded]:
    """Read a recording.

    Raises:
        MalformedTraceError: with the line and what is wrong with it.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return read(file, str(path))


def read(lines: Iterable[bytes], name: str) -> list[Recorded]:
    """Read the lines of a recording of that name.

    Raises:
        MalformedTraceError: with the line and what is wrong with it.
    """
    sessions: list[_Session] = []
    torn: MalformedTraceError | None = None
    for number, line in enumerate(lines, 1):
        before = len(sessions)
        try:
            _take(line, sessions)
        except (MalformedTraceError, MalformedBodyError) as error:
            malformed = MalformedTraceError(f"{name}:{number}: {error}")
            if torn is not None or not sessions:
                raise torn or malformed from error
            # A machine that stopped in the middle of a line left a part of it, and nothing but a
            # further session can come after that.
            torn = malformed
            whole = line.endswith(b"\n")
        else:
            if torn is not None and len(sessions) == before:
                raise torn
            torn = None
    if torn is not None and whole:
        raise torn
    if not any(session.answered for session in sessions):
        msg = (
            f"{name}: nothing is answered in it, so it is no recording; name a PORT to replay it on"
        )
        raise MalformedTraceError(msg)
    return [each for session in sessions for each in session.recorded()]


def _take(line: bytes, sessions: list[_Session]) -> None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        msg = "not a JSON object"
        raise MalformedTraceError(msg) from error
    if not isinstance(message, dict):
        msg = "not a JSON object"
        raise MalformedTraceError(msg)
    if message.get("type") == "open":
        profile, broker = header(with_known_settings(message))
        if message.get("unseen") or message.get("history"):
            msg = "not a recording with every answer: groupcheck history judges it"
            raise MalformedTraceError(msg)
        sessions.append(_Session(profile.name, broker, groups_before(message)))
    elif sessions:
        sessions[-1].take(message)
    else:
        msg = "not the first line of a recording"
        raise MalformedTraceError(msg)


def with_known_settings(message: Json) -> Json:
    """The first line without the settings that no rule reads, such as how many partitions are."""
    config = message.get("config")
    if not isinstance(config, dict):
        return message
    return {**message, "config": {name: config[name] for name in config if name in SETTINGS}}


def groups_before(message: Json) -> tuple[str, ...]:
    """The groups that were there before, as a first line names them.

    Raises:
        MalformedTraceError: it names them in no such way.
    """
    groups = message.get("groups", [])
    if not isinstance(groups, list) or not all(isinstance(each, str) for each in groups):
        msg = "groups: not a list of names"
        raise MalformedTraceError(msg)
    return tuple(groups)


class _Group:
    """A group as far as it has been read.

    `now_ms` is up to when its time has been told, `cleanups` and `releases` how many of the
    session's.
    """

    def __init__(self, cut: str | None = None, cleanups: int = 0, releases: int = 0) -> None:
        self.exchanges: list[Exchange] = []
        self.now_ms = 0
        self.cleanups = cleanups
        self.releases = releases
        self.holds = False
        self.cut = cut

    def tell(self, now_ms: int, given: Input) -> None:
        """Something happened at that time."""
        self.tell_time(now_ms)
        self.exchanges.append(Exchange(given, []))

    def tell_time(self, now_ms: int) -> None:
        """Time passed, if it did."""
        if now_ms > self.now_ms:
            self.exchanges.append(Exchange(Advance(now_ms - self.now_ms), []))
            self.now_ms = now_ms


class _Session:
    """One session of a recording, told apart by groups as it is read.

    What happens to the coordinator a group is told when next there is something about it. Of
    releases that is the first alone: nothing of the group's waited for the others.
    """

    def __init__(self, profile: str, broker: Mapping[str, int], groups: Collection[str]) -> None:
        self._profile = PROFILES[profile]
        self._broker = broker
        self._groups = {group_id: _Group(BEFORE) for group_id in groups}
        self._asked: dict[int, tuple[Request, tuple[str, ...]]] = {}  # and about which groups
        self._unread: set[int] = set()  # the requests that the model does not have
        self._now_ms = 0
        self._holds = False
        self._releases: list[int] = []  # when
        self._cleanups: list[int] = []
        self.answered = False

    def recorded(self) -> Iterator[Recorded]:
        """What was recorded of each group."""
        for group_id, group in self._groups.items():
            yield Recorded(group_id, self._profile.name, self._broker, group.exchanges, group.cut)

    def take(self, message: Json) -> None:
        """Take in a line.

        Raises:
            MalformedTraceError: it is none of a recording.
            MalformedBodyError: its body is not what its API has.
        """
        match message:
            case {"type": "advance", "ms": int(ms)} if ms >= 0:
                self._now_ms += ms
            case {"type": "fault", "fault": "cleanup"}:
                self._cleanups.append(self._now_ms)
            case {"type": "fault", "fault": "holdAppends"}:
                self._holds = True
            case {"type": "fault", "fault": "releaseAppends"}:
                self._holds = False
                self._releases.append(self._now_ms)
            case {"type": "request", "id": int(number), "api": str(api), "apiVersion": int()}:
                if api not in self._profile.max_versions or number in self._asked:
                    msg = f"not a request of a recording: {number}, {api[:40]}"
                    raise MalformedTraceError(msg)
                self._request(message, number, api)
            case {"type": "response", "id": int(number)} if number in self._asked:
                self._response(message, number)
            case {"type": "response", "id": int(number)} if number in self._unread:
                self.answered = True
            case _:
                msg = "not a message of a recording"
                raise MalformedTraceError(msg)

    def _request(self, message: Json, number: int, api: str) -> None:
        version: int = message["apiVersion"]
        try:
            body = decode_request(api, version, message.get("body"))
        except MalformedBodyError as error:
            self._cut(message.get("body"), number, str(error))
            return
        client = (str(message.get("clientId", "")), str(message.get("clientHost", "")))
        request = Request(number, version, body, *client)
        told_apart = parts(body, self._groups)
        self._asked[number] = request, tuple(told_apart)
        for group_id, asked in told_apart.items():
            group = self._group(group_id)
            if group.cut is None:
                group.cut = outside_the_model(asked)
            if group.cut is None:
                self._tell(group)
                if self._holds and not group.holds:
                    group.tell(self._now_ms, HoldAppends())
                    group.holds = True
                group.tell(self._now_ms, request._replace(body=asked))

    def _group(self, group_id: str) -> _Group:
        """The group, which there may be from now on: what happened before is nothing to it."""
        if group_id not in self._groups:
            happened = len(self._cleanups), len(self._releases)
            self._groups[group_id] = _Group(None, *happened)
        return self._groups[group_id]

    def _cut(self, body: object, number: int, why: str) -> None:
        """A request is such as the model does not have: of its group nothing is known any more.

        Raises:
            MalformedTraceError: it is about no group.
        """
        group_id = body.get("groupId") if isinstance(body, dict) else None
        if not isinstance(group_id, str):
            raise MalformedTraceError(why)
        self._unread.add(number)
        group = self._group(group_id)
        group.cut = group.cut or why

    def _response(self, message: Json, number: int) -> None:
        self.answered = True
        request, group_ids = self._asked[number]
        body = decode_response(request.api, request.api_version, message.get("body"))
        for group_id in group_ids:
            group = self._groups[group_id]
            if group.cut is None:
                self._tell(group)
                group.exchanges[-1].answers.append(Response(number, part(body, group_id)))

    def _tell(self, group: _Group) -> None:
        """Tell the group what has happened that it has not been told of yet, and the time."""
        happened: list[tuple[int, Input]] = [
            (when_ms, Cleanup()) for when_ms in self._cleanups[group.cleanups :]
        ]
        if group.holds and group.releases < len(self._releases):
            happened.append((self._releases[group.releases], ReleaseAppends()))
            group.holds = False
        group.cleanups, group.releases = len(self._cleanups), len(self._releases)
        for when_ms, given in sorted(happened, key=itemgetter(0)):
            group.tell(when_ms, given)
        group.tell_time(self._now_ms)
