"""What TLC found of each instance, kept in a file: TLC takes minutes, and says the same again.

A row is good for one text: it is kept under a key made of every module, both configurations, and
the words of the one in those of the other (`tla_as_model.py`). States are kept as a digest of the
set of them, whatever the order, made of TLC's own dump.
`tests/support/record_tlc.py` writes the file.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.clients import Feature
from groupcheck.model.spaces.instance import Instance, composed, spaces
from support import tla, tla_as_model

FILE: Final = Path(__file__).parent.parent / "model" / "tlc.tsv"
HEAD: Final = (
    "instance\tkey\tstates\tgenerated\tdepth\tmean and least out-degree\tactions"
    "\tdigest of the states\tstates with answers\tdigest of these"
)
STALE: Final = "TLC has not been run on the text as it is: python tests/support/record_tlc.py"


class Case(NamedTuple):
    """An instance that TLC is run on, with the `.cfg` that has its invariants and its view.

    If it is only `counted`, its states have answers in them that the words here do not say.
    """

    cfg: str
    instance: Instance
    counted: bool = False

    @property
    def key(self) -> str:
        """What a row of it must have been recorded for."""
        words = Path(tla_as_model.__file__).read_text(encoding="utf-8")
        modules = (m.read_text(encoding="utf-8") for m in sorted(tla.ROOM.glob("*.tla")))
        return digest((words, *self.texts, *modules))

    @property
    def texts(self) -> tuple[str, str]:
        """Its configuration, and the one in which answers are part of a state."""
        return tuple(tla.config(self.cfg, self.instance, answers=a) for a in (False, True))  # type: ignore[return-value]


class Row(NamedTuple):
    """What TLC says of an instance, and of the states that it lists.

    `out_degree` is the mean and the least. `answered` are the states together with the answers
    that lead to them. Where states are only counted, there is nothing after `actions`.
    """

    key: str
    distinct: int
    generated: int
    depth: int
    out_degree: tuple[int, ...]
    actions: Counter[str]
    states: str = ""
    answered: int = 0
    answers: str = ""


def cases() -> dict[str, Case]:
    """Every space of every profile, and what no space has together."""
    found = {
        f"{profile} {name}": Case(name, instance)
        for profile in PROFILES
        for name, instance in spaces(PROFILES[profile], 2).items()
    }
    crashes = composed(PROFILES["2.7"], 2, frozenset({Feature.METADATA, Feature.CRASHES}))
    found["2.7 metadata, three generations"] = Case("metadata", crashes._replace(generations=3))
    for feature in (Feature.ADMINISTRATION, Feature.TRANSACTIONS):
        features = frozenset({feature, Feature.HELD_APPENDS})
        instance = composed(PROFILES["4.1"], 1, features)
        found[f"4.1 {feature}, answers wait"] = Case("transactions", instance, counted=True)
    return found


def checked(case: Case, folder: Path) -> Row:
    """Run TLC, once for its figures and states, and once with the answers.

    Raises:
        OSError: there is no Java.
        ValueError: TLC did not come to its end.
    """
    text, with_answers = case.texts
    counted = tla.check(folder, text)
    row = Row(
        case.key,
        counted.distinct,
        counted.generated,
        counted.depth,
        counted.out_degree[:2],  # the others depend on the order of a state's successors
        counted.actions,
    )
    if case.counted:
        return row

    def state(said: Mapping[str, tla.Value]) -> object:
        return tla_as_model.coordinator(dict(said), case.instance)

    states = digest(map(state, counted.states))
    observed = tla.check(folder, with_answers, dump="states")
    seen = [(state(each), each["answers"], each["rules"]) for each in observed.states if each["rules"]]
    return row._replace(states=states, answered=len(seen), answers=digest(seen))


def digest(values: Iterable[object]) -> str:
    """A digest of the set of some values: not of their order, nor of how often each is there.

    Values that are equal are the same, as they are in a set: a named tuple and a plain one, an
    enumeration's member and its value.
    """
    known: dict[object, str] = {}

    def text(value: object) -> str:
        if not isinstance(value, tuple | frozenset):
            return repr(int(value)) if isinstance(value, int) else _plain(value)
        if value not in known:
            inner = map(text, value)
            known[value] = (
                f"({','.join(inner)})"
                if isinstance(value, tuple)
                else f"{{{','.join(sorted(inner))}}}"
            )
        return known[value]

    each = {hashlib.sha256(text(value).encode()).hexdigest() for value in values}
    return hashlib.sha256("".join(sorted(each)).encode()).hexdigest()[:32]


def _plain(value: object) -> str:
    return repr(str(value)) if isinstance(value, str) else repr(value)


def recorded() -> dict[str, Row]:
    """The rows of the file; none if it is not there."""
    lines = FILE.read_text(encoding="utf-8").splitlines()[1:] if FILE.exists() else []
    return dict(map(_read, lines))


def write(rows: Mapping[str, Row]) -> None:
    """Write the file."""
    lines = [HEAD, *(_written(name, row) for name, row in rows.items())]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _written(name: str, row: Row) -> str:
    degrees = " ".join(map(str, row.out_degree))
    actions = " ".join(f"{action}={count}" for action, count in sorted(row.actions.items()))
    fields = row._replace(out_degree=degrees, actions=actions)  # type: ignore[arg-type]
    return "\t".join((name, *map(str, fields)))


def _read(line: str) -> tuple[str, Row]:
    name, key, distinct, generated, depth, degrees, actions, states, answered, answers = line.split(
        "\t"
    )
    return name, Row(
        key,
        int(distinct),
        int(generated),
        int(depth),
        tuple(map(int, degrees.split())),
        Counter(dict(_counts(actions))),
        states,
        int(answered),
        answers,
    )


def _counts(actions: str) -> Iterator[tuple[str, int]]:
    for each in actions.split():
        action, _, count = each.partition("=")
        yield action, int(count)
