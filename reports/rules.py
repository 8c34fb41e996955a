"""The rule tables as text: of one version, the difference of two, and a page of all."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from groupcheck.model.classic.profiles import PARTS, PROFILES
from groupcheck.model.classic.rules.rebalance import EMPTY_IS_DEAD
from groupcheck.model.classic.sources import link
from groupcheck.model.classic.step import Profile
from groupcheck.model.cluster import sources as cluster_sources
from groupcheck.model.cluster import specification as cluster
from groupcheck.model.engine.rules import (
    Behaviour,
    Effect,
    Guard,
    Part,
    Procedure,
    Rule,
    Sources,
    Table,
    Version,
    VersionRule,
)
from groupcheck.model.member import sources, specification
from groupcheck.model.vocabulary import GroupState
from groupcheck.reports.confirmed import Confirmed, Parts, confirmed, total

WIDTH: Final = 100
NO_RULE: Final = "no such rule"
WAITS: Final = "the answer is deferred until every earlier record is committed"


class Selection(NamedTuple):
    """The rules to list.

    Args:
        areas: the areas, or names of tables; all if empty.
        state: a state of the group in which they can apply; any if None.
        rule: how their ids begin.
        shared: of two versions, whether those that both have are listed.
    """

    areas: tuple[str, ...] = ()
    state: str | None = None
    rule: str = ""
    shared: bool = False

    def takes_area(self, *names: str) -> bool:
        """Whether the rules of an area, or of a table of it, are listed."""
        return not self.areas or not set(self.areas).isdisjoint(names)

    def takes(self, rule: VersionRule | Rule) -> bool:
        """Whether a rule is listed: no guard of it excludes the state."""
        if not rule.id.startswith(self.rule):
            return False
        allowed = (guard.states for guard in rule.guards if guard.states)
        return self.state is None or all(self.state in states for states in allowed)


def areas() -> tuple[str, ...]:
    """The areas of the rules: the APIs first, then shared ones."""
    return tuple(dict.fromkeys(part.area for part in PARTS))


def tables() -> tuple[str, ...]:
    """The names of the tables: the headings of the page."""
    return tuple(part.name for part in PARTS if isinstance(part, Table))


def states() -> tuple[str, ...]:
    """The states that guards ask for."""
    rules = (rule for part in PARTS if isinstance(part, Table) for rule in part.rules)
    found = {state for rule in rules for guard in rule.guards for state in guard.states}
    return tuple(sorted(found))


def missing_state(profile: Profile, state: str | None) -> str | None:
    """A sentence on a state that a version lacks, with the state of its groups instead."""
    if state != GroupState.EMPTY or not EMPTY_IS_DEAD.holds_in(profile.version):
        return None
    return f"{profile.kafka}: {EMPTY_IS_DEAD.words}; see --state Dead, Stable and none"


def listing(profile: Profile, selection: Selection) -> str:
    """The rules of one version, in the order in which they are tried."""
    lines: list[str] = []
    for table in _tables(selection):
        rules = [r for r in profile.version.tables[table.name] if selection.takes(r)]
        if not rules:
            continue
        lines += [f"{table.name} ({profile.kafka})", ""]
        for rule in rules:
            found = confirmed().get((profile.name, rule.id))
            counted = f"  confirmed {found}" if found else ""
            lines.append(f"  {rule.id}  [{rule.source}]{counted}")
            if [rule.words] != [guard.words for guard in rule.guards]:
                lines += _wrapped("because", rule.words)
            lines += _clauses(profile.version, rule)
            lines.append("")
    return "\n".join(lines) or "no rule\n"


def _tables(selection: Selection) -> Iterator[Table]:
    for part in PARTS:
        if isinstance(part, Table) and selection.takes_area(part.area, part.name):
            yield part


def _clauses(version: Version, rule: VersionRule) -> list[str]:
    lines = []
    for number, guard in enumerate(rule.guards):
        lines += _wrapped("and" if number else "if", _with_source(version, guard))
    for depth, effect in _expanded(version, rule.effects):
        lines += _wrapped("  " * depth + "then", _with_source(version, effect))
    if rule.deferred:
        lines += _wrapped("", WAITS)
    return lines


def _with_source(version: Version, part: Guard | Effect) -> str:
    source = part.sources.get(version.name)
    return f"{part.words} [{source}]" if source else part.words


def _expanded(
    version: Version, effects: Iterable[Effect], depth: int = 0
) -> Iterator[tuple[int, Effect]]:
    """The effects, each procedure followed by its effects in the version."""
    for effect in effects:
        yield depth, effect
        called = getattr(effect.apply, "__self__", None)
        if isinstance(called, Procedure):
            yield from _expanded(version, version.procedures[called.name], depth + 1)


def _wrapped(head: str, text: str, indent: int = 4) -> list[str]:
    first = " " * indent + f"{head:<8} "
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first))


def difference(one: Profile, other: Profile, selection: Selection) -> str:
    """The rules in which two versions differ, and how, by table.

    With a state, the rules that name it come first: the others apply in every state.
    """
    lines: list[str] = []
    same = 0
    state = selection.state
    suffixes = {True: f": in {state}", False: ": in every state"} if state else {False: ""}
    for of_state, suffix in suffixes.items():
        for table in _tables(selection):
            moved = _moved(one.version, other.version, table.name)
            found: list[str] = []
            for rule in _either(one, other, table, selection):
                if bool(state) and _names_states(one, other, rule) is not of_state:
                    continue
                differing = _difference_of(one, other, rule, moved, effects=of_state)
                same += not differing
                if differing:
                    found += differing
                elif selection.shared:
                    found += _shared_rule(one, other, rule)
            if found:
                lines += [_heading(table, one, other) + suffix, *found]
    if not selection.rule:
        lines += _differing_behaviours(one, other, selection)
    head = f"{one.kafka} and {other.kafka}"
    return "\n".join([f"{head}: {_summary(same, lines, selection)}", *lines, ""])


def _names_states(one: Profile, other: Profile, rule: VersionRule) -> bool:
    """Whether a guard of a rule, in either version, is about the state of the group."""
    both = (each.rules[rule.id] for each in (one, other) if rule.id in each.rules)
    return any(guard.states for each in both for guard in each.guards)


def _heading(table: Table, *profiles: Profile) -> str:
    """The name of a table, and which of two versions has no rule of it."""
    without = [each.name for each in profiles if not each.version.tables[table.name]]
    return f"{table.name} (not in {without[0]})" if without else table.name


def _summary(same: int, lines: list[str], selection: Selection) -> str:
    if not same:
        return "no rule is the same" if lines else "neither has such a rule"
    counted = f"{same} {'rule is' if same == 1 else 'rules are'} the same"
    if not selection.shared:
        counted += " (--all lists them)"
    return counted if lines else f"no difference, {counted}"


def _either(one: Profile, other: Profile, table: Table, selection: Selection) -> list[VersionRule]:
    """The selected rules of a table in either version, in the order of all versions."""
    found = {
        rule.id: rule
        for each in (other, one)
        for rule in each.version.tables[table.name]
        if selection.takes(rule)
    }
    places = {rule.id: place for place, rule in enumerate(table.rules)}
    return sorted(found.values(), key=lambda rule: places.get(rule.id, len(places)))


def _difference_of(
    one: Profile, other: Profile, rule: VersionRule, moved: dict[str, str], *, effects: bool
) -> list[str]:
    """The difference of two versions of a rule, optionally with the effects of both."""
    rules = {profile.name: profile.rules.get(rule.id) for profile in (one, other)}
    said = {profile.name: _said(profile.version, rules[profile.name]) for profile in (one, other)}
    if said[one.name] == said[other.name] and rule.id not in moved:
        return []
    cited = (f"{name} [{found.source if found else NO_RULE}]" for name, found in rules.items())
    lines = [*_titled(f"{rule.id}: {rule.words}"), f"    {'  '.join(cited)}"]
    for profile, rival in ((one, other), (other, one)):
        repeated = {*said[rival.name], f"if {rule.words}"}
        own = [text for text in said[profile.name] if text not in repeated]
        lines += [line for text in own for line in _wrapped(f"only {profile.name}", text, 6)]
    # The answer is often an effect that both versions share.
    shared = {*said[one.name]} & {*said[other.name]}
    both = [effect.words for effect in rule.effects if f"then {effect.words}" in shared]
    if effects and both and said[one.name] != said[other.name]:
        lines += _wrapped("both", f"then {'; '.join(both)}", 6)
    if rule.id in moved:
        lines += _wrapped("order", moved[rule.id], 6)
    return lines


def _titled(text: str) -> list[str]:
    """The first line of a rule of a table, wrapped."""
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="      ")


def _shared_rule(one: Profile, other: Profile, rule: VersionRule) -> list[str]:
    """A rule that two versions share: its sources and effects."""
    found = [each.rules[rule.id] for each in (one, other)]
    cited = ", ".join(dict.fromkeys(_short(each.source) for each in found))
    effects = "; ".join(effect.words for effect in found[0].effects)
    return _titled(f"{rule.id}: same [{cited}]: {rule.words}: {effects}")


def _said(version: Version, rule: VersionRule | None) -> list[str]:
    if rule is None:
        return []
    texts = [f"if {guard.words}" for guard in rule.guards]
    texts += [f"then {effect.words}" for _, effect in _expanded(version, rule.effects)]
    return texts + ([WAITS] if rule.deferred else [])


def _moved(one: Version, other: Version, table: str) -> dict[str, str]:
    """The rules of a table that two versions try in another order, each with a sentence."""
    names = [rule.id for rule in one.tables[table]], [rule.id for rule in other.tables[table]]
    common = set(names[0]) & set(names[1])
    mine, theirs = ([name for name in each if name in common] for each in names)
    found = {}
    for tag, _, _, start, end in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        for name in theirs[start:end] if tag in {"insert", "replace"} else ():
            later = theirs[theirs.index(name) + 1 :]
            before = next((each for each in later if mine.index(each) < mine.index(name)), None)
            if before:
                found[name] = f"{other.name} tries it before {before}, {one.name} after it"
    return found


def _differing_behaviours(one: Profile, other: Profile, selection: Selection) -> list[str]:
    lines: list[str] = []
    for part in PARTS:
        if not isinstance(part, Behaviour) or not selection.takes_area(part.area):
            continue
        has = [profile for profile in (one, other) if part.holds_in(profile.version)]
        if len(has) == 1:
            source = part.sources.get(has[0].name)
            cited = f" [{source}]" if source else ""
            lines += _titled(f"{part.area}: only {has[0].name}: {part.words}{cited}")
    return ["Behaviour that rules ask for", *lines] if lines else []


HEAD: Final = """\
# The rules of the classic group

Every rule of the model, in every version. A request reaches the tables of its API in the order of
this page. Within a table, rules are tried from the top, and the first rule whose conditions all
hold is applied. The column of a version has the line of Kafka's source that states the rule, and
the conditions and effects that only this version has. **-** means that the version does not have
the rule.

`groupcheck rules` prints the same in a terminal: one API, one state, one version, or the difference
between two versions (`groupcheck rules --api JoinGroup --state Stable --diff 2.7 4.1`). It also
supports the [minor versions](kafka-versions.md#the-profiles), such as 3.9, which are edits of 2.7.

A behaviour that no version has is one of other implementations: [deviations](deviations.md) are
edits of these tables.

*confirmed 3 of 4, 1 hidden*: the rule has five parts, which are the rule itself, its guards and its
effects. Clients of one broker can see four of them, and [recorded
tests](long-runs.md#recorded-tests) of a broker of that version confirm three: the model without the
part would not allow one of these tests. A part is hidden if no sequence shows it in the [model
instances](long-runs.md#recorded-tests) for a live broker. 0.10.0 has no such recordings. The [last
section](#confirmed-on-brokers) has the sums.

The PlusCal text has the same ids, and TLC applies the same rules in the same states. The command
`PYTHONPATH=tests python tests/support/reference.py` generates this page from the model.
"""

CONFIRMED: Final = """\
## Confirmed on brokers

The table counts the confirmed parts of the rules, those that clients can see, and the hidden ones.
Most of these are about appends that fail, and about a coordinator that moves to another broker.
`python bench/confirmed.py -v` lists the parts that are not confirmed.
"""


CLUSTER_HEAD: Final = """\
# The rules of a cluster

Every rule of the specification of a cluster of Kafka 2.4 and 2.7 with ZooKeeper: what operators and
faults do, the election of a controller, controller events, the state machines of partitions and
replicas, the deletion of topics, requests at brokers, and the coordinator of groups. Its structure
is that of [the rules of the group](rules.md): the first rule of a table whose conditions all hold
is applied, and each version has a column.

[The cluster](cluster.md) explains what is modelled, and which promises the rules break. The PlusCal
text `model/cluster/Cluster.tla` has the same ids, and TLC applies the same rules in the same
states. The command `PYTHONPATH=tests python tests/support/reference.py` generates this page.
"""
CLIENT_HEAD: Final = """\
# The rules of a consumer

Every rule of the specification of Kafka's Java consumer, 2.7 and 4.1, with the classic protocol:
what it does when the coordinator answers, when time passes and when the application calls it. Its
structure is that of [the rules of the group](rules.md): the first rule of a table whose conditions
all hold is applied. After each input the table *poll* is tried until none of its rules holds.

The PlusCal text `model/member/Member.tla` has the same ids, and TLC applies the same rules in the
same states. [Verify a client](clients.md) leads real consumers through them; [clients
compared](clients-compared.md) has the result. The command `PYTHONPATH=tests python
tests/support/reference.py` generates this page.
"""


class Book(NamedTuple):
    """A specification whose rules a page has.

    Args:
        parts: of the specification.
        versions: the columns.
        link: returns the address of a source in a version.
        confirmed: by version, how much of a rule its recorded tests confirm.
    """

    parts: Sequence[Part]
    versions: Sequence[str]
    link: Callable[[str, str], str]
    confirmed: Callable[[str], dict[str, str]] = lambda _: {}


def page() -> str:
    """The rules of the group, of all versions, in Markdown."""
    book = Book(PARTS, tuple(PROFILES), link, _confirmed)
    return "\n".join([HEAD, *_areas(book), CONFIRMED, _confirmed_by_area()])


def client_page() -> str:
    """The rules of a consumer, of both versions, in Markdown."""
    book = Book(specification.PARTS, tuple(specification.VERSIONS), sources.link)
    return "\n".join([CLIENT_HEAD, *_areas(book)])


def cluster_page() -> str:
    """The rules of a cluster, of both versions, in Markdown."""
    book = Book(cluster.PARTS, tuple(cluster.VERSIONS), cluster_sources.link)
    return "\n".join([CLUSTER_HEAD, *_areas(book)])


def _areas(book: Book) -> Iterator[str]:
    """A section per area, a table per decision."""
    for area in dict.fromkeys(part.area for part in book.parts):
        yield f"## {area}\n"
        members = [part for part in book.parts if part.area == area]
        yield from (_section(book, part) for part in members if isinstance(part, Table))
        yield from (_procedure(book, part) for part in members if isinstance(part, Procedure))
        behaviours = [part for part in members if isinstance(part, Behaviour)]
        if behaviours:
            rows = (_row(book, (each.words,), each.sources, {}) for each in behaviours)
            yield "\n".join([_head(book, "Behaviour that rules ask for"), *rows, ""])


def _head(book: Book, *columns: str) -> str:
    names = [*columns, *book.versions]
    return f"| {' | '.join(names)} |\n|{' --- |' * len(names)}"


def _row(book: Book, columns: Iterable[str], sources: Sources, own: dict[str, list[str]]) -> str:
    cells = [*columns]
    for version in book.versions:
        source = sources.get(version)
        cited = f"[{_short(source)}]({book.link(version, source)})" if source else "-"
        cells.append("<br>".join([cited, *own.get(version, [])]))
    return f"| {' | '.join(cells)} |"


def _short(source: str) -> str:
    return source.replace(".scala:", ":").replace(".java:", ":")


def _confirmed(name: str) -> dict[str, str]:
    """For each version how many parts of a rule or a procedure its recorded tests confirm."""
    found = {version: confirmed().get((version, name)) for version in PROFILES}
    return {version: f"confirmed {each}" for version, each in found.items() if each}


def _section(book: Book, table: Table) -> str:
    lines = [f"### {table.name}\n", _head(book, "Rule", "If", "Then")]
    for rule in table.rules:
        own: dict[str, list[str]] = {}
        for version, words in rule.words_of.items():
            own.setdefault(version, []).append(f"*{words}*")
        columns = (
            f"`{rule.id}`<br>{rule.words}",
            _shared(rule.guards, "if", rule.sources, own),
            _shared(rule.effects, "then", rule.sources, own),
        )
        for version in rule.deferred:
            own.setdefault(version, []).append(WAITS)
        for version, text in book.confirmed(rule.id).items():
            own.setdefault(version, []).append(text)
        lines.append(_row(book, columns, rule.sources, own))
    for version, moves in table.moves.items():
        lines += ["", *(f"{version} tries `{a}` before `{b}`." for a, b in moves)]
    return "\n".join([*lines, ""])


def _procedure(book: Book, procedure: Procedure) -> str:
    lines = [f"### To {procedure.words}\n", _head(book, "Effect")]
    for effect in procedure.effects:
        if effect.sources:
            lines.append(_row(book, (effect.words,), effect.sources, {}))
        else:
            cells = " | ".join("yes" for _ in book.versions)
            lines.append(f"| {effect.words} | {cells} |")
    if found := book.confirmed(procedure.name):
        lines += ["", "; ".join(f"{version}: {text}" for version, text in found.items()) + "."]
    return "\n".join([*lines, ""])


def by_area(parts: Parts) -> dict[str, list[Confirmed]]:
    """The sums of each area that has parts, and of all: one for each version, in their order."""
    area_of = {
        name: part.area
        for part in PARTS
        for name in ([rule.id for rule in part.rules] if isinstance(part, Table) else [part.name])
    }
    found = {
        area: [each for each in parts.items() if area_of[each[0][1]] == area] for area in areas()
    }
    versions = dict.fromkeys(version for version, _ in parts)
    return {
        area: [total(found for (of, _), found in some if of == version) for version in versions]
        for area, some in {**found, "all": [*parts.items()]}.items()
        if some
    }


def _confirmed_by_area() -> str:
    versions = [*dict.fromkeys(version for version, _ in confirmed())]
    lines = [f"| | {' | '.join(versions)} |\n|{' --- |' * (len(versions) + 1)}"]
    for area, sums in by_area(confirmed()).items():
        lines.append(f"| {area} | {' | '.join(map(str, sums))} |")
    return "\n".join([*lines, ""])


def _shared(
    parts: Iterable[Guard | Effect],
    word: str,
    sources: Sources,
    own: dict[str, list[str]],
) -> str:
    """The parts that all versions of a rule share, as one cell; other parts go into `own`."""
    shared = []
    for part in parts:
        words = part.words
        versions = part.sources
        if not versions or versions.keys() >= sources.keys():
            shared.append(words)
            continue
        for version in versions:
            if version in sources:
                own.setdefault(version, []).append(f"{word}: {words}")
    return "<br>".join(shared)
