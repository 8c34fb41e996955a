"""Makes the result record of an exploration."""

from __future__ import annotations

import json

from groupcheck.model.classic.exploring.exploration import Exploration, Explored
from groupcheck.properties.sequence import Sequence, dump, step_message
from groupcheck.properties.temporal.counterexamples import PROPERTIES, Counterexample
from groupcheck.reports import record
from groupcheck.reports.command_records import Took, bare_finding, one_run
from groupcheck.reports.exploration import closing, summary, violation_lines
from groupcheck.reports.finding_record import replace
from groupcheck.reports.formatting import bounded
from groupcheck.reports.steps import trace_steps


def explore_record(
    exploration: Exploration,
    violations: list[Counterexample] | None,
    took: Took,
) -> record.ResultRecord:
    """The record of an exploration; an expected violation is a known finding."""
    settings = exploration.settings
    profile = settings.profile
    findings = [_violated(each) for each in violations or ()]
    findings += [bare_finding(error, profile.name, error) for error in exploration.errors]
    return one_run(
        "explore",
        took,
        {"members": settings.members, "generations": settings.generations},
        port=f"the model of {profile.kafka}",
        profile=profile.name,
        kafka=profile.kafka,
        conforms=all(each.known for each in findings),
        findings=tuple(findings),
        lines=tuple(summary(exploration, [], violations).splitlines()),
        exploration=as_record(exploration, violations),
    )


def _violated(each: Counterexample) -> record.FindingRecord:
    """A property that the model violates, with the trace."""
    prop, instance = each.property, each.instance
    heading = violation_lines(each)[0].removesuffix(":")
    steps = tuple(step.given for step in each.steps)
    trace = dump(Sequence(instance.profile.name, instance.broker, steps))
    return replace(
        bare_finding(heading, instance.profile.name, each.instance_name, prop.name),
        steps=trace_steps(each.steps),
        known=each.known is not None,
        notes=tuple(map(bounded, closing(each))),
        property=record.Property(name=prop.name, description=prop.words, source=prop.source),
        trace=tuple(json.loads(line) for line in trace.splitlines()),
    )


def as_record(
    exploration: Exploration, violations: list[Counterexample] | None
) -> record.Exploration:
    """The exploration as a section of a result record."""
    settings, witness = exploration.settings, exploration.witness
    arrows = sorted(exploration.group_graph.arrows.items())
    return record.Exploration(
        members=settings.members,
        features=tuple(sorted(settings.features)),
        generations=settings.generations,
        symmetry=settings.symmetry,
        errors=tuple(exploration.errors),
        instances=tuple(_instance(each, symmetry=settings.symmetry) for each in exploration.spaces),
        group_transitions={str(arrow): dict(reasons) for arrow, reasons in arrows},
        rules_not_applied=tuple(exploration.unreached),
        properties=None if violations is None else _checked(violations),
        witness=witness
        and record.Witness(
            rule=witness.rule,
            instance=witness.space,
            steps=tuple(step_message(step.given) for step in witness.steps),
        ),
    )


def _checked(violations: list[Counterexample]) -> tuple[record.CheckedProperty, ...]:
    """Every property, and whether it holds."""
    known = {each.property.name: each.known is not None for each in violations}
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
