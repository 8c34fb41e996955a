"""The result of an exploration as text."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from types import MappingProxyType
from typing import Final

from groupcheck import __version__
from groupcheck.model import classic
from groupcheck.model.classic.exploring.exploration import COMPOSED, Exploration, Explored, Witness
from groupcheck.model.classic.exploring.group_graph import DEAD, GroupGraph
from groupcheck.model.engine.graph import Component
from groupcheck.model.engine.statistics import Degrees
from groupcheck.properties.generators.suite import Suite
from groupcheck.properties.temporal.counterexamples import PROPERTIES, Counterexample
from groupcheck.reports.formatting import WIDTH, counted, indented, table, wrapped
from groupcheck.reports.steps import step_lines, trace_steps

MODEL = Path(classic.__file__).parent


def summary(
    exploration: Exploration,
    files: list[Path],
    violations: list[Counterexample] | None = None,
    suites: Mapping[str, Suite] = MappingProxyType({}),
) -> str:
    """Statistics, transitions between group states, coverage of the rules, and errors.

    Args:
        exploration: the exploration.
        files: the files that were written.
        violations: the violated properties, None if no property was checked.
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
        _group_transitions(exploration.group_graph),
        _coverage(exploration) + ([] if violations is None else _properties(violations)),
        *map(violation_lines, violations or ()),
    ]
    if exploration.witness is not None:
        sections.append(_witness(exploration.witness))
    if suites:
        sections.append([_suite(name, suite) for name, suite in suites.items()])
    if files:
        sections.append(wrapped("written", (str(file) for file in files)))
    return "\n\n".join("\n".join(lines) for lines in sections) + "\n"


def _suite(name: str, suite: Suite) -> str:
    ratio = suite.steps / suite.lower_bound
    return (
        f"tests      {name}: {counted(len(suite.tests), 'test')}, {suite.kept:,} of them kept;"
        f" {counted(suite.steps, 'step')}, {ratio:.2f} times the lower bound"
    )


def _seconds(seconds: float) -> str:
    """Seconds in the same width for short and long runs."""
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"


def _statistics(exploration: Exploration) -> list[list[str]]:
    columns: dict[str, Callable[[Explored], str]] = {
        "instance": lambda each: each.name,
        "states": lambda each: f"{each.statistics.states:,}",
        "transitions": lambda each: f"{each.statistics.edges:,}",
        "depth": lambda each: f"{each.statistics.depth}",
        "out-degree": lambda each: _degrees(each.statistics.out_degree),
    }
    if exploration.settings.symmetry:
        columns |= {
            "components": lambda each: _sizes(each.components),
            "terminal": lambda each: _sizes(
                each.components and [c for c in each.components if c.terminal]
            ),
        }
    else:
        columns |= {
            "generated": lambda each: f"{each.statistics.generated:,}",
            "new": lambda each: _degrees(each.statistics.discovered),
        }
    columns["time"] = lambda each: _seconds(each.seconds)
    rows = [[show(each) for show in columns.values()] for each in exploration.spaces]
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


# The maximum of instances in one table, so that it fits on a screen.
MOST_COLUMNS: Final = 4


def _actions(instances: list[Explored]) -> list[list[str]]:
    actions = sorted({a for each in instances for a in each.statistics.actions})
    rows = [
        [action, *(f"{each.statistics.actions[action]:,}" for each in instances)]
        for action in actions
    ]
    return [["transitions by action", *(each.name for each in instances)], *rows]


def _group_transitions(group_graph: GroupGraph) -> list[str]:
    """Each transition between group states, with the rules that cause it."""
    arrows = sorted(group_graph.arrows, key=[*group_graph.expected, *group_graph.arrows].index)
    head = max(len(str(arrow)) for arrow in arrows) + 2
    lines = ["group state".ljust(head) + "rules"]
    for arrow in arrows:
        text = ", ".join(reason for reason, _ in group_graph.arrows[arrow].most_common())
        first, *more = wrap(text, WIDTH - head, break_on_hyphens=False)
        lines += [str(arrow).ljust(head) + first, *(" " * head + line for line in more)]
    return lines


def _coverage(exploration: Exploration) -> list[str]:
    edges = sum(each.statistics.edges for each in exploration.spaces)
    longest = max(each.longest_witness for each in exploration.spaces)
    rules = len(exploration.settings.profile.rules)
    lines = []
    if not any(each.unreachable for each in exploration.spaces):
        lines.append(f"reached    all {edges:,} transitions, each in at most {longest} steps")
    if not exploration.unreached:
        lines.append(f"applied    all {rules} rules of the profile")
    elif not exploration.whole:
        lines += wrapped("unapplied", exploration.unreached)
    group_graph = exploration.group_graph
    if not group_graph.unexpected and not any(
        each.group_graph.inconsistent for each in exploration.spaces
    ):
        lines.append(f"group      {_allowed(group_graph)}")
    if not exploration.settings.symmetry:
        lines += _compared(exploration)
    return lines + [f"ERROR      {error}" for error in exploration.errors]


def _allowed(group_graph: GroupGraph) -> str:
    those = "the state changes of validPreviousStates [GroupMetadata.scala]"
    if group_graph.missing:
        missing = ", ".join(map(str, group_graph.missing))
        return f"{those}, except {missing}"
    dies = any(arrow.target == DEAD for arrow in group_graph.arrows)
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


def _configuration(each: Explored) -> str:
    """The .cfg with the timeouts of the instance."""
    if each.name != COMPOSED:
        return each.name
    return "membership" if each.instance.timed else "metadata"


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


def _properties(violations: list[Counterexample]) -> list[str]:
    unknown = [each for each in violations if each.known is None]
    held = len(PROPERTIES) - len(violations)
    if not violations:
        return [f"properties all {held} hold"]
    known = ", ".join(each.property.name for each in violations if each.known)
    others = f"; expected violations in this version: {known}" if known else ""
    errors = [f"ERROR      the property {each.property.name} is violated" for each in unknown]
    return [*wrapped("properties", [f"{held} of {len(PROPERTIES)} hold{others}"]), *errors]


def violation_lines(violation: Counterexample) -> list[str]:
    """A violated property, with a trace."""
    prop = violation.property
    lines = [f"The property {prop.name} is violated in {violation.instance_name}:"]
    lines += wrapped("property", [f"{prop.words} [{prop.source}]"])
    lines += step_lines(trace_steps(violation.steps))
    for line in closing(violation):
        lines += wrapped("", [line])
    return lines


def closing(violation: Counterexample) -> list[str]:
    """The cycle of a counterexample, and why the violation is expected."""
    lines = []
    if violation.cycle:
        first, last = len(violation.steps) - violation.cycle + 1, len(violation.steps)
        lines.append(f"steps {first} to {last} repeat forever")
    if violation.known is not None:
        cited = violation.known.cited(violation.instance.profile.name)
        lines.append(f"expected: {violation.known.words} [{cited}]")
    return lines


def _witness(witness: Witness) -> list[str]:
    """The trace to a rule."""
    rule = witness.instance.profile.rules[witness.rule]
    head = f"A shortest trace to {rule.id} ({rule.words}) [{rule.source}] in {witness.space}:"
    return [head, *step_lines(trace_steps(witness.steps))]


def details(exploration: Exploration, violations: list[Counterexample] | None) -> str:
    """The lines after the summary that `explore -v` prints; `violations` is as in it."""
    sections = [_digests(exploration), *map(_rules, exploration.spaces)]
    if violations is not None:
        sections.append(list(_each_property({each.property.name: each for each in violations})))
    return "".join("\n" + "".join(f"{line}\n" for line in lines) for lines in sections)


def _digests(exploration: Exploration) -> list[str]:
    settings = exploration.settings
    texts = settings._asdict() | {
        "profile": settings.profile.name,
        "instances": ",".join(settings.instances),
        "features": ",".join(sorted(settings.features)),
    }
    values = (f"{name}={value}" for name, value in texts.items() if value not in {"", None})
    digests = [
        f"instance   {each.name}: longest shortest trace {each.longest_witness} steps,"
        f" digest {each.digest}"
        for each in exploration.spaces
    ]
    version = f"with       groupcheck {__version__}, Python {platform.python_version()}"
    return [version, *wrapped("settings", values), *digests]


def _rules(each: Explored) -> list[str]:
    """The number of transitions that apply each rule, the most frequent first."""
    rows = [[rule, f"{number:,}"] for rule, number in each.statistics.rules.most_common()]
    return table([[f"transitions by rule, {each.name}", ""], *rows])


def _each_property(violations: dict[str, Counterexample]) -> Iterator[str]:
    for prop in PROPERTIES:
        head = "violated" if prop.name in violations else "holds"
        yield from wrapped(head, [f"{prop.name}: {prop.words} [{prop.source}]"])
