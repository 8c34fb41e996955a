"""The result of an exploration as text and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from textwrap import wrap
from types import MappingProxyType
from typing import Any, Final

from groupcheck import model
from groupcheck.model.engine.graph import Component
from groupcheck.model.engine.statistics import Degrees
from groupcheck.model.engine.trace import TraceStep
from groupcheck.model.exploring.exploration import COMPOSED, Exploration, Explored, Witness
from groupcheck.model.exploring.projection import DEAD, Projection
from groupcheck.properties.generators.suite import Suite
from groupcheck.properties.sequence import step_message
from groupcheck.properties.temporal.counterexamples import PROPERTIES, Counterexample
from groupcheck.reports.columns import WIDTH, indented, table, wrapped
from groupcheck.reports.formatting import answer_in_words, counted, letters, step_in_words

FORMAT = 1
MODEL = Path(model.__file__).parent


def summary(
    exploration: Exploration,
    files: list[Path],
    broken: list[Counterexample] | None = None,
    suites: Mapping[str, Suite] = MappingProxyType({}),
) -> str:
    """Statistics, transitions between group states, coverage of the rules, and errors.

    Args:
        exploration: the exploration.
        files: the files that were written.
        broken: the violated properties, None if no property was checked.
        suites: the test suites that were written, by instance.
    """
    settings = exploration.settings
    symmetry = f"{'with' if settings.symmetry else 'without'} symmetry reduction"
    members = counted(settings.members, "member")
    composed = [f"features {', '.join(sorted(settings.features))}"] if settings.features else []
    sections = [
        wrap("; ".join((f"{settings.profile.kafka}, {members}", *composed, symmetry)), WIDTH),
        table(_statistics(exploration)),
        *(
            table(_actions(exploration.spaces[at : at + MOST_COLUMNS]))
            for at in range(0, len(exploration.spaces), MOST_COLUMNS)
        ),
        _group_transitions(exploration.projection),
        _coverage(exploration) + ([] if broken is None else _properties(broken)),
        *map(broken_in_words, broken or ()),
    ]
    if exploration.witness is not None:
        sections.append(_witness(exploration.witness))
    if suites:
        sections.append([_suite(name, suite) for name, suite in suites.items()])
    if files:
        sections.append(wrapped("written", (str(file) for file in files)))
    return "\n\n".join("\n".join(lines) for lines in sections) + "\n"


def _suite(name: str, suite: Suite) -> str:
    return (
        f"tests      {name}: {counted(len(suite.tests), 'test')}, {suite.kept:,} of them kept;"
        f" {counted(suite.steps, 'step')}, {suite.steps / suite.least:.2f} times the lower bound"
    )


def as_json(exploration: Exploration, broken: list[Counterexample] | None = None) -> dict[str, Any]:
    """The same as JSON; `format` is its version."""
    settings, witness = exploration.settings, exploration.witness
    return {
        "format": FORMAT,
        "profile": settings.profile.name,
        "kafka": settings.profile.kafka,
        "members": settings.members,
        "features": sorted(settings.features),
        "generations": settings.generations,
        "symmetry": settings.symmetry,
        "errors": exploration.errors,
        "instances": [
            _instance_as_json(space, symmetry=settings.symmetry) for space in exploration.spaces
        ],
        "group_transitions": {
            str(arrow): dict(reasons)
            for arrow, reasons in sorted(exploration.projection.arrows.items())
        },
        "rules_not_applied": exploration.unreached,
        "properties": None if broken is None else _checked(broken),
        "violations": None
        if broken is None
        else [
            {
                "property": each.property.name,
                "expected": each.known is not None,
                "instance": each.space,
                "steps": [step_message(step.given) for step in each.steps],
                "cycle": each.cycle,
            }
            for each in broken
        ],
        "witness": witness
        and {
            "rule": witness.rule,
            "instance": witness.space,
            "steps": [step_message(step.given) for step in witness.steps],
        },
    }


def _checked(broken: list[Counterexample]) -> list[dict[str, Any]]:
    """Every property, and whether it holds."""
    known = {each.property.name: each.known is not None for each in broken}
    return [
        {
            "name": prop.name,
            "description": prop.words,
            "source": prop.source,
            "holds": prop.name not in known,
            "expected": known.get(prop.name, False),
        }
        for prop in PROPERTIES
    ]


def _seconds(seconds: float) -> str:
    """Seconds in the same width for short and long runs."""
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"


def _instance_as_json(space: Explored, *, symmetry: bool) -> dict[str, Any]:
    figures = space.figures
    return {
        "name": space.name,
        "states": figures.states,
        "transitions": figures.edges,
        "generated": None if symmetry else figures.generated,
        "depth": figures.depth,
        "out_degree": figures.out_degree._asdict(),
        "discovered": figures.discovered._asdict(),
        "actions": dict(figures.actions),
        "rules": dict(figures.rules),
        "longest_witness": space.longest_witness,
        "digest": space.digest,
        "components": space.components
        and [
            {"states": len(component.nodes), "terminal": component.terminal}
            for component in space.components
        ],
        "seconds": round(space.seconds, 3),
    }


def _statistics(exploration: Exploration) -> list[list[str]]:
    columns: dict[str, Callable[[Explored], str]] = {
        "instance": lambda space: space.name,
        "states": lambda space: f"{space.figures.states:,}",
        "transitions": lambda space: f"{space.figures.edges:,}",
        "depth": lambda space: f"{space.figures.depth}",
        "out-degree": lambda space: _degrees(space.figures.out_degree),
    }
    if exploration.settings.symmetry:
        columns |= {
            "components": lambda space: _sizes(space.components),
            "terminal": lambda space: _sizes(
                space.components and [c for c in space.components if c.terminal]
            ),
        }
    else:
        columns |= {
            "generated": lambda space: f"{space.figures.generated:,}",
            "new": lambda space: _degrees(space.figures.discovered),
        }
    columns["time"] = lambda space: _seconds(space.seconds)
    rows = [[show(space) for show in columns.values()] for space in exploration.spaces]
    return [list(columns), *rows]


def _degrees(degrees: Degrees) -> str:
    return f"{degrees.least}-{degrees.most} ~{degrees.mean:.1f} p95 {degrees.percentile_95}"


def _sizes(components: list[Component] | None) -> str:
    """The number of components and their sizes in states."""
    if components is None:
        return "not computed"
    sizes = [len(component.nodes) for component in components]
    span = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)}-{max(sizes)}"
    return f"{len(sizes)} of {span}"


# The most instances side by side in a table of the width of a screen.
MOST_COLUMNS: Final = 4


def _actions(spaces: list[Explored]) -> list[list[str]]:
    actions = sorted({action for space in spaces for action in space.figures.actions})
    rows = [
        [action, *(f"{space.figures.actions[action]:,}" for space in spaces)] for action in actions
    ]
    return [["transitions by action", *(space.name for space in spaces)], *rows]


def _group_transitions(projection: Projection) -> list[str]:
    """Each transition between group states, with the rules that cause it."""
    arrows = sorted(projection.arrows, key=[*projection.kafkas, *projection.arrows].index)
    head = max(len(str(arrow)) for arrow in arrows) + 2
    lines = ["group state".ljust(head) + "rules"]
    for arrow in arrows:
        text = ", ".join(reason for reason, _ in projection.arrows[arrow].most_common())
        first, *more = wrap(text, WIDTH - head, break_on_hyphens=False)
        lines += [str(arrow).ljust(head) + first, *(" " * head + line for line in more)]
    return lines


def _coverage(exploration: Exploration) -> list[str]:
    edges = sum(space.figures.edges for space in exploration.spaces)
    longest = max(space.longest_witness for space in exploration.spaces)
    rules = len(exploration.settings.profile.rules)
    lines = []
    if not any(space.unreachable for space in exploration.spaces):
        lines.append(f"reached    all {edges:,} transitions, each in at most {longest} steps")
    if not exploration.unreached:
        lines.append(f"applied    all {rules} rules of the profile")
    elif not exploration.whole:
        lines += wrapped("unapplied", exploration.unreached)
    projection = exploration.projection
    if not projection.unexpected and not any(space.projection.torn for space in exploration.spaces):
        lines.append(f"group      {_allowed(projection)}")
    if not exploration.settings.symmetry:
        lines += _compared(exploration)
    return lines + [f"ERROR      {error}" for error in exploration.errors]


def _allowed(projection: Projection) -> str:
    those = "the state changes of validPreviousStates [GroupMetadata.scala]"
    if projection.missing:
        missing = ", ".join(map(str, projection.missing))
        return f"{those}, except {missing}"
    dies = any(arrow.target == DEAD for arrow in projection.arrows)
    return f"exactly {those}{'' if dies else ', except to Dead'}"


def _compared(exploration: Exploration) -> list[str]:
    """How to run the same exploration with TLC."""
    first, *others = exploration.spaces
    name = "INSTANCE" if others else _configuration(first)
    changes = ", ".join(f"{name} = {value}" for name, value in _constants(exploration).items())
    command = "java -cp tla2tools.jar tlc2.TLC -deadlock"
    return [
        f"with TLC   {command} -config {name}.cfg ConsumerGroup.tla",
        f"{'':11}reports as many generated and distinct states. Its depth counts states, not",
        f"{'':11}steps: it is one higher. Its out-degree is that of new states",
        *indented(wrap(f"(with {changes} in the .cfg, both in", WIDTH - 11)),
        f"{'':11}{MODEL})",
    ]


def _configuration(space: Explored) -> str:
    """The .cfg with the timeouts of the instance."""
    if space.name != COMPOSED:
        return space.name
    return "membership" if space.instance.timed else "metadata"


def _constants(exploration: Exploration) -> dict[str, str]:
    """The constants to change in the .cfg of the first instance."""
    settings, instance = exploration.settings, exploration.spaces[0].instance
    constants = {"Version": f'"{settings.profile.name}"', "Names": _set(instance.names)}
    if settings.generations > 1:
        constants["Generations"] = str(settings.generations)
    if settings.features:
        constants["Features"] = _set(sorted(settings.features))
    if "group.max.size" in instance.settings:
        constants["MaxSize"] = str(instance.settings["group.max.size"])
    return constants


def _set(strings: Iterable[str]) -> str:
    """A set of strings in TLA+."""
    quoted = ", ".join(f'"{string}"' for string in strings)
    return f"{{{quoted}}}"


def _properties(broken: list[Counterexample]) -> list[str]:
    unknown = [each for each in broken if each.known is None]
    held = len(PROPERTIES) - len(broken)
    if not broken:
        return [f"properties all {held} hold"]
    known = ", ".join(each.property.name for each in broken if each.known)
    others = f"; expected violations in this version: {known}" if known else ""
    errors = [f"ERROR      the property {each.property.name} is violated" for each in unknown]
    return [*wrapped("properties", [f"{held} of {len(PROPERTIES)} hold{others}"]), *errors]


def broken_in_words(broken: Counterexample) -> list[str]:
    """A violated property, with a trace."""
    prop, why = broken.property, broken.known
    lines = [
        f"The property {prop.name} ({prop.words}) [{prop.source}] is violated in {broken.space}:"
    ]
    lines += _steps(broken.steps)
    if broken.cycle:
        first, last = len(broken.steps) - broken.cycle + 1, len(broken.steps)
        lines.append(f"     and steps {first} to {last} repeat forever")
    return lines + (wrapped("expected", [f"{why.words} [{why.source}]"]) if why else [])


def _witness(witness: Witness) -> list[str]:
    """The trace to a rule."""
    rule = witness.instance.profile.rules[witness.rule]
    head = f"A shortest trace to {rule.id} ({rule.words}) [{rule.source}] in {witness.space}:"
    return [head, *_steps(witness.steps)]


def _steps(steps: tuple[TraceStep, ...]) -> list[str]:
    names = letters(tuple(step.given for step in steps))
    lines = []
    for number, (given, outcome) in enumerate(steps, 1):
        lines.append(f"{number:3}. {step_in_words(given, names)}")
        for request_id, body in outcome.responses:
            to = "" if request_id == number else f"(to step {request_id}) "
            lines.append(f"       <- {to}{answer_in_words(body, names)}")
    return lines
