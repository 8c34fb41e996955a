"""Checks linearizability of the history of each group, with symbols for its members.

A member is named by the JoinGroup whose response revealed its id. If that response was not seen, an
id may be from any such JoinGroup, and all combinations are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from groupcheck.model.bodies import shown
from groupcheck.model.classic.exploring.canonical import rename
from groupcheck.model.classic.instances.inputs import NOBODY
from groupcheck.model.vocabulary import JoinGroupRequest
from groupcheck.properties.compare import normal
from groupcheck.properties.histories.bodies import without
from groupcheck.properties.histories.history import (
    NS,
    GroupHistory,
    Operation,
    Setting,
    Verdict,
)
from groupcheck.properties.histories.history_file import Noted
from groupcheck.properties.histories.linearize import Search
from groupcheck.properties.sequence import member_ids
from groupcheck.properties.tolerances import EXACT, Tolerances


class Rejected(NamedTuple):
    """A group without an allowed order: its operations, with symbols, and the verdict."""

    group_id: str
    profile: str
    operations: tuple[Operation, ...]
    verdict: Verdict


class GroupsChecked(NamedTuple):
    """The result for a history: how much was checked, and the first group without an allowed order.

    `points` is the size of the searches. If one stopped at the limit, `undecided` is its group.
    """

    groups: int
    operations: int
    points: int
    rejected: Rejected | None = None
    undecided: str | None = None
    cut: tuple[str, ...] = ()


def check_groups(noted: Noted, tolerances: Tolerances, most_points: int) -> GroupsChecked:
    """Search for an allowed order of each group, up to the first group without one."""
    groups = noted.groups
    if noted.exact:
        tolerances = EXACT
    operations = points = 0
    undecided: str | None = None
    setting = Setting(
        noted.profile, noted.broker, tolerances, noted.open_appends, most_points=most_points
    )
    for each in groups:
        rejected, verdict = check_group_history(each, setting)
        operations += len(each.requests)
        points += verdict.points
        if rejected is not None:
            return GroupsChecked(len(groups), operations, points, rejected)
        if verdict.allowed is None and undecided is None:
            undecided = each.group_id
    cut = tuple(f"group {shown(each.group_id)}: {each.cut}" for each in groups if each.cut)
    return GroupsChecked(len(groups), operations, points, undecided=undecided, cut=cut)


def check_group_history(history: GroupHistory, setting: Setting) -> tuple[Rejected | None, Verdict]:
    """Search for an allowed order of one group's operations, for each naming of its members."""
    farthest: Rejected | None = None
    points = 0
    for names, strangers in bindings(history.requests):
        whole = _named(history.operations, names, strangers, setting.tolerances)
        symbols = {symbol: symbol for symbol in names.values()}
        limited = setting._replace(symbols=symbols, most_points=setting.most_points - points)
        verdict = Search(whole, limited).run()
        points += verdict.points
        if verdict.allowed is not False:
            return None, verdict._replace(points=points)
        if farthest is None or len(verdict.order) > len(farthest.verdict.order):
            profile = setting.profile.name
            farthest = Rejected(history.group_id, profile, whole, verdict)
        if points >= setting.most_points:
            return None, verdict._replace(allowed=None, points=points)
    if farthest is None:
        return None, Verdict(allowed=True, points=points, order=())
    return farthest, farthest.verdict._replace(points=points)


def bindings(
    operations: Iterable[Operation],
) -> Iterator[tuple[dict[str, str], set[str]]]:
    """Every naming of the members: the symbol of each id, and the ids of no member."""
    names: dict[str, str] = {}
    unseen: list[Operation] = []
    uses: dict[str, Operation] = {}
    for each in operations:
        body = each.request.body
        for member_id in filter(None, member_ids(body)):
            uses.setdefault(member_id, each)
        if isinstance(body, JoinGroupRequest) and not body.member_id:
            if each.answer is None:
                unseen.append(each)
            elif new_id := getattr(each.answer, "member_id", ""):
                names.setdefault(new_id, f"#{each.request.request_id}")
    strangers = {name: used for name, used in uses.items() if name not in names}
    for symbols in _choices([_joins(*each, unseen) for each in strangers.items()]):
        chosen = dict(zip(strangers, symbols, strict=True))
        found = {name: symbol for name, symbol in chosen.items() if symbol is not None}
        yield {**names, **found}, chosen.keys() - found.keys()


def _joins(member_id: str, used: Operation, unseen: list[Operation]) -> list[str | None]:
    """The JoinGroups that an id may be from, likely ones first; None: no member."""
    likely = sorted(unseen, key=lambda join: not _is_likely(member_id, used, join))
    numbers = (join.request.request_id for join in likely if join.begins <= used.limit)
    return [*(f"#{number}" for number in numbers), None]


def _choices(options: list[list[str | None]]) -> Iterator[list[str | None]]:
    """Every choice of one option each, only None twice; iterative, as there may be many."""
    if not options:
        yield []
        return
    taken: list[str | None] = []
    untried = [iter(options[0])]
    while untried:
        if len(taken) == len(untried):
            taken.pop()
        for choice in untried[-1]:
            if choice is None or choice not in taken:
                taken.append(choice)
                break
        else:
            untried.pop()
            continue
        if len(taken) == len(options):
            yield [*taken]
        else:
            untried.append(iter(options[len(taken)]))


def _is_likely(member_id: str, used: Operation, join: Operation) -> bool:
    """Whether a member id begins with the client id of that JoinGroup, or its client uses it."""
    client_id = join.request.client_id
    return client_id == used.request.client_id or member_id.startswith(f"{client_id}-")


def _named(
    operations: Iterable[Operation],
    names: dict[str, str],
    strangers: set[str],
    tolerances: Tolerances,
) -> tuple[Operation, ...]:
    """The operations with symbols for members, and responses in their comparable form."""
    called = {**names, **dict.fromkeys(strangers, NOBODY)}

    def named(each: Operation) -> Operation:
        request = each.request._replace(body=rename(each.request.body, called, 0))
        answer, by = each.answer, each.by
        if answer is not None:
            answer = normal(without(answer, strangers), names, request.api_version)
        if each.silent is not None:  # the request without a response took effect nevertheless
            by = min(by, each.begins + tolerances.grace_ms * NS, each.silent)
        return each._replace(given=request, answer=answer, by=by)

    return tuple(each if each.is_fault else named(each) for each in operations)
