"""Run known sequences on brokers, and write the pages on them.

    python bench/known_sequences.py differences [0.10.2=PORT 2.7=PORT 4.1=PORT] [--out FILE]
    python bench/known_sequences.py found [--out FILE]

`differences` runs each sequence of tests/support/differences_on_the_wire.py on two brokers, checks
each against its own profile, and writes docs/differences-on-brokers.md. Without ports it starts
Kafka of these versions. The exit status is 1 if two brokers give equal answers or one does not
conform.

`found` runs the sequences of tests/support/found_in_kafka.py, which show the violations of the
properties by Kafka, on Kafka of each version with the violation, and writes docs/found-in-kafka.md.
The exit status is 1 if a broker answers otherwise.

Without --out, the page is printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Advance
from groupcheck.model.vocabulary import Request
from groupcheck.properties.compare import normal
from groupcheck.properties.ports.port import PortUnavailableError
from groupcheck.properties.ports.source import PortSource, port_source
from groupcheck.properties.run import FoundError, Replayed, Run
from groupcheck.properties.temporal.safety import PROPERTIES
from groupcheck.reports.finding_names import FindingNames
from groupcheck.reports.formatting import passing
from groupcheck.reports.messages import answer_text, letters, request_text
from groupcheck.reports.steps import step_lines, steps_of
from support.differences_on_the_wire import DELAY, INITIAL_DELAY, NOT_SHOWN, SHOWN, SIZE, Shown
from support.found_in_kafka import FOUND, Found, played, shown
from support.marked_tests import differences

USUAL = {"0.10.2": "kafka:0.10.2", "2.7": "kafka:2.7", "4.1": "kafka:4.1"}
NO_ANSWER = "no answer"


class Played(NamedTuple):
    """A broker's answer to each request in words, and the id of a finding, if any."""

    answers: Mapping[int, str]
    finding: str = ""


def play(shown: Shown, profile: str, source: PortSource) -> Played:
    """Run a sequence on a broker."""
    settings = dict(source.broker_settings().values)
    port = source.connect()
    steps = shown.on(profile, settings.get(INITIAL_DELAY, 0))
    names = FindingNames.made(steps, {}).symbols
    said: dict[int, str] = {}
    try:
        run = Run(port, PROFILES[profile], settings)
        for step in steps:
            run.step(step)
            versions = {n: r.api_version for n, r in run.oracle.requests.items()}
            for answer in run.exchanges[-1].seen.responses:
                body = normal(answer.body, run.oracle.names, versions[answer.request_id])
                said[answer.request_id] = answer_text(body, names)
        run.close()
    except FoundError as found:
        return Played(said, found.finding.finding_id)
    finally:
        port.shutdown()
    asked = [n for n, step in enumerate(steps, 1) if isinstance(step, Request)]
    return Played({n: said.get(n, NO_ANSWER) for n in asked})


def sequence_text(shown: Shown) -> str:
    """Return the sequence for the newer version."""
    steps = shown.on(shown.newer, 0)
    names, words = letters(steps), []
    for number, (step, given) in enumerate(zip(shown.steps, steps, strict=True), 1):
        if step is DELAY:
            said = "the initial delay passes"
        elif isinstance(given, Advance):
            said = passing(given.ms)
        else:
            assert isinstance(given, Request)
            said = request_text(given, names)
        words.append(f"{number}. {said}")
    return "<br>".join(words)


def cell(played: Played, other: Played) -> str:
    """Return the answers that differ from the other version's."""
    if played.finding:
        return f"**finding {played.finding}**"
    differing = [n for n, said in played.answers.items() if other.answers.get(n) != said]
    return "<br>".join(f"to {n}: {played.answers[n]}" for n in differing) or "equal"


class Brokers:
    """The brokers, each started when it is first needed, with the needed settings."""

    def __init__(self, named: Mapping[str, str]) -> None:
        self._named = named
        self._sources: dict[str, PortSource] = {}

    def of(self, profile: str, needs: Mapping[str, int]) -> PortSource:
        """Return a broker of that version with these settings."""
        spec = self._named[profile]
        if "://" not in spec:
            newer = {k: v for k, v in needs.items() if k != SIZE or profile != "0.10.2"}
            newer = {k: v for k, v in newer.items() if k != INITIAL_DELAY or profile != "0.10.2"}
            spec += "?" + "&".join(f"{name}={value}" for name, value in newer.items())
        if spec not in self._sources:
            self._sources[spec] = port_source(spec.removesuffix("?"))
        source = self._sources[spec]
        has = source.broker_settings().values
        for name, value in needs.items():
            if profile != "0.10.2" and has.get(name, value) != value:
                msg = f"{spec} has {name}={has[name]}, but the sequence needs {value}"
                raise PortUnavailableError(msg)
        return source

    def stop(self) -> None:
        """Stop the brokers."""
        for source in self._sources.values():
            source.stop()


DIFFERENCES = """\
# Differences between versions, on brokers

Each [difference between the profiles](differences.md) that is visible over the wire, on brokers:
the same requests, two versions, two responses. A request has the given version, or the newest that
the older broker supports. Each broker also conforms to its own profile in these sequences{but}.

`python bench/known_sequences.py differences --out docs/differences-on-brokers.md` wrote this page
on {date}, with {brokers}.
The sequences are in [`differences_on_the_wire.py`](../tests/support/differences_on_the_wire.py).

| difference | sequence | older version | newer version |
| --- | --- | --- | --- |
"""


def differences_page(named: Mapping[str, str]) -> tuple[str, bool]:
    """Return the page, and whether every difference is visible."""
    brokers, table, well, findings = Brokers(named), [], True, 0
    try:
        for shown in SHOWN:
            if not {shown.older, shown.newer} <= named.keys():
                continue
            old, new = (
                play(shown, profile, brokers.of(profile, shown.needs))
                for profile in (shown.older, shown.newer)
            )
            found = bool(old.finding or new.finding)
            findings += found
            well = well and not found and old.answers != new.answers
            cells = (f"{shown.older}: {cell(old, new)}", f"{shown.newer}: {cell(new, old)}")
            steps = sequence_text(shown)
            table.append(f"| {shown.difference} | {steps} | {' | '.join(cells)} |\n")
            sys.stderr.write(f"{shown.difference}: {'; '.join(cells)}\n")
    finally:
        brokers.stop()
    kafka = ", ".join(f"`{spec}` as {PROFILES[name].kafka}" for name, spec in named.items())
    but = f", except in {findings}" if findings else ""
    text = DIFFERENCES.format(date=today(), brokers=kafka, but=but) + "".join(table)
    text += "\nThe other differences are not visible over the wire alone:\n\n"
    text += "| difference | why |\n| --- | --- |\n"
    hidden = [name for name in differences() if name in NOT_SHOWN]
    text += "".join(f"| {name} | {NOT_SHOWN[name]} |\n" for name in hidden)
    return text, well


FOUND_IN_KAFKA = """\
# Found in Kafka

The [properties](properties.md) say what Kafka promises, independently of its source. These are the
promises that released versions break, as far as a client sees it. Each section can be filed as it
stands: what happens, since when, what it costs, the lines, and a shortest sequence with the answers
of a real broker. The steps in which a version breaks a promise are listed under
[known violations](properties.md#known-violations), also those without a section here.

`python bench/known_sequences.py found --out docs/found-in-kafka.md` wrote this page on {date}, with
{brokers}, started by name. The sequences are in
[`found_in_kafka.py`](../tests/support/found_in_kafka.py).
`pytest -m external tests/properties/temporal/test_found_in_kafka.py` plays them as tests.

| what happens | versions played | issue |
| --- | --- | --- |
"""
SECTION = """
## {title}

{happens}

- Property: `{property}`: {promise}
- Since: {since}.
- Cost: {costs}
- Lines: {lines}
- Issue: {issue}.

Kafka {version}{needs}:

```text
{steps}
```
"""


def row(found: Found) -> str:
    """The row of the table."""
    versions = ", ".join(PROFILES[name].kafka for name in found.seen)
    anchor = found.title.lower().replace(" ", "-")
    return f"| [{found.title}](#{anchor}) | {versions} | {found.issue or 'not reported'} |\n"


def section(found: Found, profile: str, replayed: Replayed) -> str:
    """The section of a violation, with the answers of one broker."""
    needs = ", ".join(f"`{name}={value}`" for name, value in found.settings(profile).items())
    return SECTION.format(
        **{name: value for name, value in found._asdict().items() if name not in {"needs", "steps"}}
        | {"issue": found.issue or "not reported, as far as we know"},
        promise=next(prop.words for prop in PROPERTIES if prop.name == found.property),
        version=PROFILES[profile].kafka.removeprefix("Apache Kafka "),
        needs=f" with {needs}" if needs else "",
        steps="\n".join(step_lines(steps_of(replayed.exchanges, replayed.names))),
    )


def found_page() -> tuple[str, bool]:
    """Return the page, and whether every broker answers as described."""
    sections, well = [], True
    for found in FOUND:
        results = {profile: played(found, profile) for profile in found.seen}
        for profile, replayed in results.items():
            as_written = replayed.finding is None and shown(replayed) == [found.shows]
            sys.stderr.write(f"{found.title}: {profile}: {'yes' if as_written else 'NO'}\n")
            well = well and as_written
        newest = found.seen[-1]
        sections.append(section(found, newest, results[newest]))
    profiles = sorted({PROFILES[name].kafka for found in FOUND for name in found.seen})
    text = FOUND_IN_KAFKA.format(date=today(), brokers=", ".join(profiles))
    text += "".join(map(row, FOUND)) + "".join(sections)
    return text, well


def today() -> str:
    """The date, in UTC."""
    return datetime.now(UTC).date().isoformat()


def main() -> int:
    """Write a page."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("page", choices=["differences", "found"])
    options.add_argument("named", metavar="VERSION=PORT", nargs="*")
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    if given.page == "found":
        text, well = found_page()
    else:
        named = dict(each.split("=", 1) for each in given.named)
        text, well = differences_page(named or USUAL)
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
