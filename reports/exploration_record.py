"""Makes the result record of an exploration, and its JSON."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from groupcheck.model.exploring.exploration import Exploration, Explored, Witness
from groupcheck.properties.sequence import Sequence, dump, step_message
from groupcheck.properties.temporal.counterexamples import PROPERTIES, Counterexample
from groupcheck.reports import record
from groupcheck.reports.command_records import Took, bare_finding, one_run
from groupcheck.reports.exploration import broken_in_words, summary
from groupcheck.reports.formatting import bounded_lines
from groupcheck.reports.verification_record import replace

FORMAT: Final = 1


def explore_record(
    exploration: Exploration,
    broken: list[Counterexample] | None,
    took: Took,
) -> record.ResultRecord:
    """The record of an exploration; an expected violation is no finding."""
    settings = exploration.settings
    profile = settings.profile
    findings = [_violated(each) for each in broken or () if each.known is None]
    findings += [bare_finding(error, profile.name, error) for error in exploration.errors]
    return one_run(
        "explore",
        took,
        {"members": settings.members, "generations": settings.generations},
        port=f"the model of {profile.kafka}",
        profile=profile.name,
        kafka=profile.kafka,
        conforms=not findings,
        findings=tuple(findings),
        lines=tuple(summary(exploration, [], broken).splitlines()),
        exploration=as_record(exploration, broken),
    )


def _violated(each: Counterexample) -> record.FindingRecord:
    """A property that the model violates, with the trace."""
    prop, instance = each.property, each.instance
    lines = broken_in_words(each)
    steps = tuple(step.given for step in each.steps)
    trace = dump(Sequence(instance.profile.name, instance.broker, steps))
    return replace(
        bare_finding(lines[0].removesuffix(":"), instance.profile.name, each.space, prop.name),
        text=bounded_lines(lines),
        accepted_steps=max(len(steps) - 1, 0),
        property=record.Property(name=prop.name, description=prop.words, source=prop.source),
        trace=tuple(json.loads(line) for line in trace.splitlines()),
    )


def as_record(exploration: Exploration, broken: list[Counterexample] | None) -> record.Exploration:
    """The exploration as a section of a result record."""
    settings, witness = exploration.settings, exploration.witness
    arrows = sorted(exploration.projection.arrows.items())
    return record.Exploration(
        members=settings.members,
        features=tuple(sorted(settings.features)),
        generations=settings.generations,
        symmetry=settings.symmetry,
        errors=tuple(exploration.errors),
        instances=tuple(_instance(each, symmetry=settings.symmetry) for each in exploration.spaces),
        group_transitions={str(arrow): dict(reasons) for arrow, reasons in arrows},
        rules_not_applied=tuple(exploration.unreached),
        properties=None if broken is None else _checked(broken),
        witness=witness
        and record.Witness(rule=witness.rule, instance=witness.space, steps=_messages(witness)),
    )


def as_json(exploration: Exploration, broken: list[Counterexample] | None = None) -> dict[str, Any]:
    """The exploration as JSON, with the traces to violated properties; `format` is its version."""
    profile = exploration.settings.profile
    violations = [
        {
            "property": each.property.name,
            "expected": each.known is not None,
            "instance": each.space,
            "steps": _messages(each),
            "cycle": each.cycle,
        }
        for each in broken or ()
    ]
    return {
        "format": FORMAT,
        "profile": profile.name,
        "kafka": profile.kafka,
        **msgspec.to_builtins(as_record(exploration, broken)),
        "violations": None if broken is None else violations,
    }


def _messages(trace: Witness | Counterexample) -> tuple[dict[str, Any], ...]:
    """The steps of a trace as messages of the port protocol."""
    return tuple(step_message(step.given) for step in trace.steps)


def _checked(broken: list[Counterexample]) -> tuple[record.CheckedProperty, ...]:
    """Every property, and whether it holds."""
    known = {each.property.name: each.known is not None for each in broken}
    return tuple(
        record.CheckedProperty(
            name=prop.name,
            description=prop.words,
            source=prop.source,
            holds=prop.name not in known,
            expected=known.get(prop.name, False),
        )
        for prop in PROPERTIES
    )


def _instance(explored: Explored, *, symmetry: bool) -> record.ExploredInstance:
    statistics, components = explored.statistics, explored.components
    return record.ExploredInstance(
        name=explored.name,
        states=statistics.states,
        transitions=statistics.edges,
        generated=None if symmetry else statistics.generated,
        depth=statistics.depth,
        longest_witness=explored.longest_witness,
        digest=explored.digest,
        seconds=round(explored.seconds, 3),
        out_degree=statistics.out_degree._asdict(),
        discovered=statistics.discovered._asdict(),
        actions=dict(statistics.actions),
        rules=dict(statistics.rules),
        components=None
        if components is None
        else tuple(
            record.Component(states=len(each.nodes), terminal=each.terminal) for each in components
        ),
    )
