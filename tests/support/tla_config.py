"""The configurations of the specification of the classic group, for TLC."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.model.classic.instances.instance import Instance
from groupcheck.properties.temporal.known_violations import known_violations
from groupcheck.properties.temporal.property import Invariant, Property
from groupcheck.properties.temporal.safety import PROPERTIES
from support import tla
from support.tla import LIST

FOLDER = Path(__file__).parents[2] / "model" / "classic"
SPECIFICATION = FOLDER / "ConsumerGroup.tla"
MAX_SIZE = 1000  # without the setting, more than there are members
STEPS: Final = "PROPERTIES\n"  # of each step: the list after it


def _defined() -> dict[str, Property]:
    """The properties that the specification states, by their names there."""
    found = {"".join(map(str.capitalize, prop.name.split("-"))): prop for prop in PROPERTIES}
    text = SPECIFICATION.read_text(encoding="utf-8")
    stated = set(re.findall(r"^(\w+) *== *\[\]\[", text, re.MULTILINE))
    return {
        name: prop for name, prop in found.items() if name in stated or isinstance(prop, Invariant)
    }


# The properties that TLC checks, by their names in the specification.
NAMES: Final = _defined()
# Those that say less there than in Python, because the request of a step is no variable.
PARTLY: Final = frozenset(
    {
        "UnansweredRequests",
        "ReadCommitted",
        "NewestOffsetWins",
        "OffsetsDurable",
        "UnloadAnswersRequests",
        "UnavailableChangesNothing",
    }
)


def config(cfg: str, instance: Instance, *, observed: bool = False) -> str:
    """The text of a .cfg with the version, the members and the settings of an instance.

    The properties are those that the version keeps. If `observed`, the responses and the rules of
    the last step are part of a state.
    """
    text = (FOLDER / f"{cfg}.cfg").read_text(encoding="utf-8")
    constants = {
        "Version": f'"{instance.profile.name}"',
        "Names": _set(instance.names),
        "Features": _set(feature for feature in Feature if feature in instance.features),
        "MaxSize": str(instance.settings.get("group.max.size", MAX_SIZE)),
        "Generations": str(instance.generations),
    }
    for constant, value in constants.items():
        text = re.sub(f"{constant} = .*", f"{constant} = {value}", text)
    kept = [name for name, prop in NAMES.items() if not known_violations(instance.profile, prop)]
    text = text.partition(LIST)[0] + _lists(kept)
    if not observed:
        return text
    text = text.replace("SPECIFICATION Spec", "SPECIFICATION ObservedSpec")
    return text.replace("VIEW State\n", "").replace("Observed = FALSE", "Observed = TRUE")


def _lists(names: Iterable[str]) -> str:
    """The end of a .cfg with these properties."""
    lists: dict[str, list[str]] = {LIST: [], STEPS: []}
    for name in names:
        lists[LIST if isinstance(NAMES[name], Invariant) else STEPS].append(f"  {name}\n")
    return "".join(head + "".join(each) for head, each in lists.items() if each)


def counterexample(text: str, name: str, folder: Path, specification: Path = SPECIFICATION) -> int:
    """The steps of TLC's shortest path to a state or a step that violates a property.

    Raises:
        ValueError: TLC found none.
    """
    text = text.partition(LIST)[0] + _lists([name])
    out = tla.explored(folder, specification, text, "-workers", "1")
    if not re.search(f"(Invariant|Action property) {name} is violated", out):
        msg = f"nothing violates {name}:\n{out[-4000:]}"
        raise ValueError(msg)
    return len(re.findall(r"^State \d+: ", out, re.MULTILINE)) - 1


def _set(strings: Iterable[str]) -> str:
    quoted = ", ".join(f'"{string}"' for string in strings)
    return f"{{{quoted}}}"
