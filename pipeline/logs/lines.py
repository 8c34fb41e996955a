"""A line of a log4j log taken apart: when, which logger, what it says; not what that means.

Kafka's own layout is `[%d] %p %m (%c)%n`, with a time in the zone of the broker's machine and no
word of which. Others put the logger before the message, a thread beside it, or a zone to the time.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
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
    rf"(?P<said>.*?)"
    rf"(?: \((?P<after>{_CLASS})\))?(?: \[[^\]]*\])?$"
)
MINUTE_MS: Final = 60_000
BACK_MS: Final = 1_000  # by which the lines of one broker may be out of order


class Said(NamedTuple):
    """What a line says: its `logger`, "" if the layout leaves it out, and its message."""

    logger: str
    message: str


def is_dated(line: str) -> bool:
    """Whether a line begins as one of a log does; if not, it goes on with the line before."""
    return _TIME.match(line) is not None


def said(line: str) -> Said | None:
    """What a line of a log says; None if it is none of the layouts known."""
    time = _TIME.match(line)
    rest = _REST.match(line, time.end()) if time else None
    if rest is None:
        return None
    return Said(rest["before"] or rest["after"] or "", rest["said"])


def zone(name: str) -> ZoneInfo:
    """The time zone of that name.

    Raises:
        PipelineError: there is none.
    """
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError) as error:
        msg = f"--time-zone: {name!r} is no time zone, such as UTC or Europe/Berlin"
        raise PipelineError(msg) from error


class Clock:
    """The time of a broker's lines, in milliseconds since 1970, UTC.

    Where clocks are put back an hour comes twice: of the two times that a line may mean it is the
    first that is not before the line before.
    """

    def __init__(self, of_machine: ZoneInfo) -> None:
        self._zone = of_machine
        self._minutes: dict[tuple[str, str, str | None], tuple[int, int]] = {}
        self._last_ms = -(2**62)

    def at_ms(self, line: str) -> int:
        """When a line was printed.

        Raises:
            ValueError: there is no such time.
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
        """When a minute began: the first time it did, and the last."""
        if offset is not None:
            told = "+00:00" if offset in {"Z", "UTC", "GMT"} else offset
            began = datetime.fromisoformat(f"{day}T{minute}{told}")
            return _ms(began), _ms(began)
        began = datetime.fromisoformat(f"{day}T{minute}").replace(tzinfo=self._zone)
        return _ms(began), _ms(began.replace(fold=1))


def _ms(when: datetime) -> int:
    return round(when.astimezone(UTC).timestamp()) * 1_000
