"""Play what the properties found in Kafka on brokers of the versions that have it; writes a page.

    python bench/found_in_kafka.py [--out FILE]

It starts Kafka of each version, plays the sequences of tests/support/found_in_kafka.py, and prints
each with the answers. The exit status is 1 if a broker does not do what is written.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from groupcheck.model.profiles import PROFILES
from groupcheck.properties.run import Replayed
from groupcheck.properties.temporal.safety import PROPERTIES
from groupcheck.reports.text import steps_in_words
from support.found_in_kafka import FOUND, Found, played, shown

HEAD = """\
# Found in Kafka

The [properties](properties.md) say what Kafka promises, independently of its source. These are the
promises that released versions break, as far as a client sees it. Each section can be filed as it
stands: what happens, since when, what it costs, the lines, and a shortest sequence with the answers
of a real broker. The steps in which a version breaks a promise are listed under
[known violations](properties.md#known-violations), also those without a section here.

`python bench/found_in_kafka.py --out docs/found-in-kafka.md` wrote this page on {date}, with
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
        steps="\n".join(steps_in_words(replayed.exchanges, replayed.names)),
    )


def main() -> int:
    """Write the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path)
    given = options.parse_args()
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
    today = datetime.now(UTC).date().isoformat()
    text = HEAD.format(date=today, brokers=", ".join(profiles))
    text += "".join(map(row, FOUND)) + "".join(sections)
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
