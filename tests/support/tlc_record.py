"""The recorded results of TLC for each model instance, since TLC takes minutes.

A row is valid for one specification: its key is a digest of every module, without comments, and of
both configurations. States, and states with the responses and rules that lead to them, are kept as
the digest of a set, made of TLC's own dump. `tests/support/record_tlc.py` writes the file.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.model.classic.instances.instance import Instance, composed, instances
from groupcheck.model.classic.profiles import PROFILES
from support import tla, tla_as_model, tla_config

FILE: Final = Path(__file__).parents[1] / "model" / "classic" / "tlc.tsv"
HEAD: Final = (
    "instance\tkey\tstates\tgenerated\tdepth\tmean and least out-degree\tactions"
    "\tdigest of the states\tstates with responses and rules\tdigest of these"
)
STALE: Final = "the record is out of date: run python tests/support/record_tlc.py"

# The .cfg of an instance that has none of its own, and whose states hold deferred responses.
COUNTED: Final = {"administration-storing": "administration"}


class Case(NamedTuple):
    """An instance that TLC explores, and the name of its `.cfg`.

    If it is only `counted`, `tla_as_model` cannot convert its states, which hold deferred
    responses of other APIs.
    """

    cfg: str
    instance: Instance
    counted: bool = False

    @property
    def key(self) -> str:
        """The digest of the specification that a row of this case is valid for."""
        modules = (m.read_text(encoding="utf-8") for m in sorted(tla_config.FOLDER.glob("*.tla")))
        return digest((*self.texts, *map(tla.code, modules)))

    @property
    def texts(self) -> tuple[str, str]:
        """Its configuration, and the one in which responses and rules are part of a state."""
        return tuple(tla_config.config(self.cfg, self.instance, observed=o) for o in (False, True))  # type: ignore[return-value]


class Row(NamedTuple):
    """What TLC reports of an instance, and digests of the states that it lists.

    `out_degree` is the mean and the least. `observed` counts the states together with the
    responses and the rules of a step that leads there. For a case that is only counted, nothing
    follows `actions`.
    """

    key: str
    distinct: int
    generated: int
    depth: int
    out_degree: tuple[int, ...]
    actions: Counter[str]
    states: str = ""
    observed: int = 0
    observations: str = ""


def cases() -> dict[str, Case]:
    """Every instance of every version, and combinations of features that no instance has."""
    found = {
        f"{profile} {name}": Case(COUNTED.get(name, name), instance, counted=name in COUNTED)
        for profile in PROFILES
        for name, instance in instances(PROFILES[profile], 2).items()
    }
    crashes = composed(PROFILES["2.7"], 2, frozenset({Feature.METADATA, Feature.CRASHES}))
    found["2.7 metadata, three generations"] = Case("metadata", crashes._replace(generations=3))
    features = frozenset({Feature.TRANSACTIONS, Feature.HELD_APPENDS})
    instance = composed(PROFILES["4.1"], 1, features)
    found["4.1 transactions, deferred responses"] = Case("transactions", instance, counted=True)
    return found


def checked(case: Case, folder: Path) -> Row:
    """Run TLC twice: for the statistics and the states, and with responses and rules.

    Raises:
        OSError: there is no Java.
        ValueError: TLC did not finish.
    """
    text, with_rules = case.texts
    counted = tla.check(folder, tla_config.SPECIFICATION, text)
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

    def state(listed: Mapping[str, tla.Value]) -> object:
        return tla_as_model.coordinator(dict(listed), case.instance)

    states = digest(map(state, counted.states))
    seen = [
        (state(each), each["answers"], each["rules"])
        for each in tla.check(folder, tla_config.SPECIFICATION, with_rules, dump="states").states
        if each["rules"]  # without rules it is a state before its next steps
    ]
    return row._replace(states=states, observed=len(seen), observations=digest(seen))


def digest(values: Iterable[object]) -> str:
    """The digest of a set of values: their order and repetitions do not matter.

    Equal values count as one: a named tuple and a tuple, a member of an enumeration and its value.
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
    """The rows of the file; none if the file does not exist."""
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
    name, key, distinct, generated, depth, degrees, actions, *seen = line.split("\t")
    states, observed, observations = seen
    return name, Row(
        key,
        int(distinct),
        int(generated),
        int(depth),
        tuple(map(int, degrees.split())),
        Counter(dict(_counts(actions))),
        states,
        int(observed),
        observations,
    )


def _counts(actions: str) -> Iterator[tuple[str, int]]:
    for each in actions.split():
        action, _, count = each.partition("=")
        yield action, int(count)
