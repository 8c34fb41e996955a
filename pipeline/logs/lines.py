"""Parses a line of a log4j log: time and logger, and the messages of group coordinators.

Kafka's own layout is `[%d] %p %m (%c)%n`, with a time in the unknown zone of the broker's machine.
Other layouts have the logger before the message, the thread, or the zone of the time.

`messages.tsv` lists the messages by profile: those of 2.7 are the same in 2.2 to 2.7 (source lines
of 2.7.2), those of 4.1 in 4.x; 0.10.2 is 0.10.2.2. `log_events` has the rule of each message.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from groupcheck.pipeline.errors import PipelineError

_TIME: Final = re.compile(
    r"\[?(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)"
    r" ?(Z|UTC|GMT|[+-]\d\d:?\d\d)?\]? "
)
_LEVEL: Final = r"(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)"
_CLASS: Final = r"(?:kafka|org\.apache)(?:\.[\w$]+)+"
_REST: Final = re.compile(
    rf"(?:\[[^\]]*\] )?\[?{_LEVEL}\]? +"
    rf"(?:(?:\[[^\]]*\] )?(?P<before>{_CLASS}) ?[-:] )?"
    rf"(?P<message>.*?)"
    rf"(?: \((?P<after>{_CLASS})\))?(?: \[[^\]]*\])?$"
)
MINUTE_MS: Final = 60_000
BACK_MS: Final = 1_000  # by which lines of one broker may be out of order


ANY_TEXT: Final = r".*"
# The patterns of the placeholders in messages, such as <G>.
PLACEHOLDERS: Final = {
    "G": rf"(?P<group>{ANY_TEXT})",
    "g": rf"(?P<group>{ANY_TEXT}?)",
    "S": r"(?P<state>\w+)",
    "N": r"(?P<generation>-?\d+)",
    "M": rf"(?P<member>{ANY_TEXT}?)",
    "I": rf"(?P<instance>{ANY_TEXT}?)",
    "K": r"(?P<members>\d+)",
    "R": rf"(?P<reason>{ANY_TEXT})",
    "P": r"__consumer_offsets-\d+",
    "*": ANY_TEXT,
}


class LogLine(NamedTuple):
    """The message of a line, and its `logger`, "" if the layout has none."""

    logger: str
    message: str


def is_dated(line: str) -> bool:
    """Whether a line begins with a time; if not, it continues the line before."""
    return _TIME.match(line) is not None


def parse(line: str) -> LogLine | None:
    """The message of a line; None if the layout is unknown."""
    time = _TIME.match(line)
    rest = _REST.match(line, time.end()) if time else None
    if rest is None:
        return None
    return LogLine(rest["before"] or rest["after"] or "", rest["message"])


def zone(name: str) -> ZoneInfo:
    """The time zone of that name.

    Raises:
        PipelineError: the name is unknown.
    """
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError) as error:
        msg = f"--time-zone: {name!r} is not a time zone such as UTC or Europe/Berlin"
        raise PipelineError(msg) from error


class Clock:
    """The time of a broker's lines, in milliseconds since 1970, UTC.

    When clocks are set back, an hour occurs twice: of the two possible times of a line, the first
    that is not earlier than the previous line is used.
    """

    def __init__(self, of_machine: ZoneInfo) -> None:
        self._zone = of_machine
        self._minutes: dict[tuple[str, str, str | None], tuple[int, int]] = {}
        self._last_ms = -(2**62)

    def at_ms(self, line: str) -> int:
        """The time of a line.

        Raises:
            ValueError: the time is invalid.
        """
        found = _TIME.match(line)
        if found is None:
            msg = "no time"
            raise ValueError(msg)
        day, minute, second, fraction, offset = found.groups()
        key = day, minute, offset
        if key not in self._minutes:
            if len(self._minutes) > MINUTE_MS:
                self._minutes.clear()
            self._minutes[key] = self._minute(*key)
        first, second_time = self._minutes[key]
        within = int(second) * 1_000 + int(f"{fraction or 0:0<3}"[:3])
        at_ms = first + within
        if first != second_time and at_ms + BACK_MS < self._last_ms:
            at_ms = second_time + within
        self._last_ms = at_ms
        return at_ms

    def _minute(self, day: str, minute: str, offset: str | None) -> tuple[int, int]:
        """The start of a minute: its first and its last occurrence."""
        if offset is not None:
            zone = "+00:00" if offset in {"Z", "UTC", "GMT"} else offset
            began = datetime.fromisoformat(f"{day}T{minute}{zone}")
            return _ms(began), _ms(began)
        began = datetime.fromisoformat(f"{day}T{minute}").replace(tzinfo=self._zone)
        return _ms(began), _ms(began.replace(fold=1))


def _ms(when: datetime) -> int:
    return round(when.astimezone(UTC).timestamp()) * 1_000


class Message(NamedTuple):
    """A message, and its event; None if it does not change the state of a group."""

    event: str | None
    source: str
    text: str
    pattern: re.Pattern[str]


@cache
def messages(profile: str) -> tuple[Message, ...]:
    """The messages of a profile, in the order in which they are tried."""
    table = Path(__file__).with_name("messages.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in table.splitlines()[1:])
    return tuple(
        Message(event or None, source, text, _pattern(text))
        for profile_of_row, event, source, text in rows
        if profile_of_row == profile
    )


def _pattern(text: str) -> re.Pattern[str]:
    tokens = re.split(r"<(.)>", text)
    patterns = [PLACEHOLDERS[each] if at % 2 else re.escape(each) for at, each in enumerate(tokens)]
    return re.compile("".join(patterns) + r"\.?$", re.DOTALL)
