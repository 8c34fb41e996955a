"""Generates pages from the command line, the rules, the result schema, docstrings and tests.

Run this module as a program to write them.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import groupcheck
from groupcheck import pytest_plugin
from groupcheck.cli.registry import parser
from groupcheck.properties.ports import python
from groupcheck.properties.temporal import liveness, safety
from groupcheck.properties.temporal.known_violations import KNOWN_VIOLATIONS
from groupcheck.properties.temporal.property import Property
from groupcheck.reports import cluster_pictures, rules
from groupcheck.reports.record_file import schema
from support import tla_config
from support.marked_tests import ROOT, differences_page, kafka_tests_page

DOCS: Final = ROOT / "docs"
SCHEMA: Final = ROOT / "reports" / "result.schema.json"

WRITTEN: Final = "`PYTHONPATH=tests python tests/support/reference.py` generates this page from {}."

COMMANDS: Final = f"""\
# Commands

`groupcheck COMMAND --help` prints the same. For the options of the pytest plugin, see
[its page](pytest.md#options). {WRITTEN.format("the command line")}
"""

RESULT: Final = f"""\
# The schema of a saved result

`groupcheck verify PORT --report DIR` writes `result.json`. `replay`, `check` and `explore` write it
with `--save FILE`. `verify`, `check` and `explore` print it with `--json`.
[Reports](reports.md#the-saved-result) describes the fields; this page lists their types.
{WRITTEN.format("[`result.schema.json`](../reports/result.schema.json)")}
"""

PROPERTIES: Final = f"""\
# The properties

This page lists what Kafka promises for every group, and the promises that a version of Kafka does
not keep. The properties are independent of the rules of the model. `groupcheck explore` checks them
on [every state and every transition](explore.md) of a model instance. A [finding](findings.md)
names the property that an answer violates. Source lines are of Kafka 2.7.2 unless they say
otherwise.
{WRITTEN.format("the code")}

## Safety

An invariant holds in every reachable state. An action property holds on every step. A violation
comes with a shortest trace. The properties from `offsets-durable` on are about the log, and about a
group that is lost and loaded from it. On a step in which the coordinator crashes, or the partition
is loaded or unloaded, they are the only action properties that are checked.

The first {{invariants}} are the invariants. `ConsumerGroup.tla` states them too, and {{actions}}
of the {{of}} action properties. They use the constants of the version and the names of the
actions, but no other operator of the rules. The request of a step is no variable there, so
{{partly}} of them are stated in part: comments say what is left out. TLC checks in each model
instance those that the version keeps. Where a version breaks one, TLC finds a shortest violation
with as many steps as groupcheck.

| property | promise | source | TLC checks it |
| --- | --- | --- | --- |
{{safety}}

## Liveness

Something happens eventually. These properties are checked on the strongly connected components of
instances with timers, under fairness: time passes again and again, every held append is released
eventually, and the coordinator crashes finitely often. Clients may do anything or nothing, forever.
A violation comes with a lasso: a path, and a cycle in which time passes. Only groupcheck checks
them: TLC may miss a violation of liveness where states are the same under a VIEW, as they are here
([tlaplus#59](https://github.com/tlaplus/tlaplus/issues/59)).

| property | promise | source |
| --- | --- | --- |
{{liveness}}

## Known violations

These versions of Kafka violate these properties, in the steps that the row describes and in no
others. `groupcheck explore` prints such a violation as expected.
[Found in Kafka](found-in-kafka.md) shows those that the properties found first, on brokers.

| properties | what happens | issue | source, by version |
| --- | --- | --- | --- |
{{known}}
"""

PYTHON: Final = f"""\
# Python API

This page lists what you can import from groupcheck, and the methods that groupcheck calls.
Everything else is internal and may change.
{WRITTEN.format("the docstrings")}
"""

PLUGIN: Final = """\
## The pytest plugin

The fixture `groupcheck_port`, session-scoped:

{fixture}

See also its [options and ini keys](pytest.md#options). Every test of the suite has the marker
`groupcheck`. [Markers](pytest.md#skip-features-that-a-port-does-not-have) such as
`no_static_members` skip features that a port does not have.
"""


def commands() -> str:
    """Every command with its options."""
    made = parser()
    (choices,) = (each for each in made._actions if isinstance(each, argparse._SubParsersAction))
    parts = [COMMANDS, "| command | what it does |\n| --- | --- |\n"]
    for each in choices._choices_actions:
        parts[-1] += f"| [`{each.dest}`](#groupcheck-{each.dest}) | {each.help} |\n"
    parts += [_command(name, each) for name, each in choices.choices.items()]
    return "\n".join(parts)


def _command(name: str, command: argparse.ArgumentParser) -> str:
    shown = [each for each in command._actions if each.dest != "help"]
    rows = "".join(f"| `{_usage(each)}` | {_cell(each.help or '')} |\n" for each in shown)
    described = " ".join((command.description or "").split())
    text = f"## groupcheck {name}\n\n{described}\n"
    if rows:
        text += f"\n| | |\n| --- | --- |\n{rows}"
    ports, _, status = (command.epilog or "").rpartition("\n\n")
    if ports:
        text += f"\n```text\n{ports.strip()}\n```\n"
    return text + (f"\n{status.strip()}\n" if status else "")


def _usage(action: argparse.Action) -> str:
    """An option with its argument."""
    names = action.metavar or action.dest
    shown = names if isinstance(names, str) else " ".join(names)
    value = "" if action.nargs == 0 else shown
    if action.nargs == "+":
        value += "..."
    return " ".join(filter(None, (", ".join(action.option_strings), value)))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("%%", "%")


def result() -> str:
    """Every object of the schema, field by field."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return "\n".join([RESULT, *(_object(name, each) for name, each in schema["$defs"].items())])


def _object(name: str, form: dict[str, Any]) -> str:
    required = form.get("required", [])
    rows = "".join(
        f"| `{field}` | {_type(each)}{'' if field in required else ', optional'} |\n"
        for field, each in form.get("properties", {}).items()
    )
    description = form.get("description", "").split("\n\n")[0].replace("\n", " ")
    table = f"| field | type |\n| --- | --- |\n{rows}" if rows else f"{_type(form)}\n"
    return f"## {name}\n\n" + (f"{description}\n\n" if description else "") + table


def _type(form: dict[str, Any]) -> str:  # noqa: PLR0911 - one line for each form
    match form:
        case {"$ref": reference}:
            name = reference.rpartition("/")[2]
            return f"[{name}](#{name.lower()})"
        case {"anyOf": options}:
            return " or ".join(map(_type, options))
        case {"enum": values}:
            return " or ".join(f"`{json.dumps(value)}`" for value in values)
        case {"type": "array", "prefixItems": items}:
            return f"array of {', '.join(map(_type, items))}"
        case {"type": "array", "items": dict() as items}:
            return f"array of {_type(items)}"
        case {"type": "object", "additionalProperties": dict() as values}:
            return f"object, each value {_type(values)}"
        case {"type": name}:
            return str(name)
    return "anything"


def python_api() -> str:
    """The public functions, the contract of a Python port, and the fixture of the plugin."""
    fixture: Any = pytest_plugin.groupcheck_port
    parts = [
        PYTHON,
        _function("groupcheck.check_trace", groupcheck.check_trace),
        f"## A port in Python\n\n{_contract(python.__doc__ or '')}",
        PLUGIN.format(fixture=_plain(inspect.getdoc(fixture) or "")),
    ]
    return "\n".join(parts)


def _function(name: str, function: Callable[..., object]) -> str:
    words = inspect.getdoc(function) or ""
    signature = str(inspect.signature(function)).replace("'", "")
    return f"## {name}\n\n```python\n{name}{signature}\n```\n\n{_plain(words)}\n"


def _plain(docstring: str) -> str:
    """A docstring in Google's style, with its sections as lists."""
    return "\n".join(_lines(docstring.splitlines()))


def _lines(lines: list[str]) -> Iterator[str]:
    section = False
    for line in lines:
        if line in {"Args:", "Raises:"}:
            section = True
            yield f"{line}\n"
        elif section and (entry := re.fullmatch(r" {4}(\w+): (.*)", line)):
            yield f"- `{entry[1]}`: {entry[2]}"
        else:
            yield f"  {line.strip()}" if section and line else line


def _contract(docstring: str) -> str:
    """The contract of a port; indented lines are code."""
    _, _, contract = docstring.partition("\n\n")
    blocks = re.sub(r"(?m)^((?: {4}.*\n?)+)", r"```python\n\1```\n", contract)
    return re.sub(r"(?m)^ {4}", "", blocks)


def properties() -> str:
    """Every property, and every known violation of one."""
    rows = "\n".join(f"{_property(each)} {_by_tlc(each)} |" for each in safety.PROPERTIES)
    temporal = "\n".join(_property(each) for each in liveness.PROPERTIES)
    known = "\n".join(
        f"| {', '.join(f'`{name}`' for name in each.properties)} | {each.words} | {each.issue} "
        f"| {'<br>'.join(f'{name}: {line}' for name, line in each.sources.items())} |"
        for each in KNOWN_VIOLATIONS
    )
    invariants, stated = len(safety.INVARIANTS), len(tla_config.NAMES)
    return PROPERTIES.format(
        safety=rows,
        liveness=temporal,
        known=known,
        invariants=invariants,
        actions=stated - invariants,
        of=len(safety.PROPERTIES) - invariants,
        partly=len(tla_config.PARTLY),
    )


def _by_tlc(prop: Property) -> str:
    names = [name for name, each in tla_config.NAMES.items() if each is prop]
    return "" if not names else "in part" if tla_config.PARTLY.issuperset(names) else "yes"


def _property(prop: Property) -> str:
    return f"| `{prop.name}` | {prop.words} | {prop.source} |"


PAGES: Final = {
    DOCS / "commands.md": commands,
    DOCS / "differences.md": differences_page,
    DOCS / "kafka-tests.md": kafka_tests_page,
    DOCS / "rules.md": rules.page,
    DOCS / "client-rules.md": rules.client_page,
    DOCS / "cluster-rules.md": rules.cluster_page,
    DOCS / "cluster-brokers.svg": cluster_pictures.brokers,
    DOCS / "cluster-partitions.svg": cluster_pictures.partitions,
    DOCS / "cluster-replicas.svg": cluster_pictures.replicas,
    DOCS / "properties.md": properties,
    DOCS / "result-schema.md": result,
    DOCS / "python-api.md": python_api,
}

if __name__ == "__main__":
    SCHEMA.write_text(json.dumps(schema(), indent=1) + "\n", encoding="utf-8")
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8")
