"""Ports that number generations otherwise than Kafka, whose first generation of a group is 1.

Rules, tests and observations use Kafka's numbers; requests to the port use the port's.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from groupcheck.model.classic.exploring.canonical import rename
from groupcheck.model.classic.profiles import GENERATION
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.edits import Anything
from groupcheck.model.vocabulary import JoinGroupResponse, Request, ResponseBody
from groupcheck.properties.ports.port import Fault, Observation, Port, PortInFront

# A number that no group has: replaces one below the port's first, where -1 means no generation.
NEVER: Final = 1_000_000


def first_generation(profile: Profile) -> int:
    """The number of the first generation of a group."""
    return profile.version.first_numbers[GENERATION]


def revealed_generation(body: object) -> int | None:
    """The generation that an answer reveals; None if it reveals none, or may reveal any."""
    if not isinstance(body, JoinGroupResponse) or body.error_code:
        return None
    generation: Any = body.generation_id
    return None if isinstance(generation, Anything) or generation < 0 else generation


def shifted(body: ResponseBody, shift: int) -> ResponseBody:
    """An answer with the generation that it reveals, if any, raised by `shift`."""
    generation = revealed_generation(body)
    if generation is None or not shift:
        return body
    return body._replace(generation_id=generation + shift)  # type: ignore[call-arg]


def numbered(port: Port, profile: Profile) -> Port:
    """The port with Kafka's generation numbers, if the profile says that its own differ."""
    shift = first_generation(profile) - 1
    return NumberedPort(port, shift) if shift else port


def sent(request: Request, shift: int) -> Request:
    """A request with its generation, if any, raised by `shift`."""
    body = rename(request.body, {}, shift)
    generation: int = getattr(request.body, "generation_id", -1)
    if generation >= 0 > generation + shift:
        body = body._replace(generation_id=NEVER)  # type: ignore[call-arg]
    return request._replace(body=body)


def observed(seen: Observation, shift: int) -> Observation:
    """An observation with its generations lowered by `shift`."""
    groups = seen.groups and tuple(
        view._replace(generation_id=view.generation_id and view.generation_id - shift)
        for view in seen.groups
    )
    responses = tuple(each._replace(body=shifted(each.body, -shift)) for each in seen.responses)
    return seen._replace(responses=responses, groups=groups)


def renumbered(given: Input, seen: Observation, shift: int) -> tuple[Input, Observation]:
    """A step and its observation, with the port's generations lowered by `shift`."""
    if not shift:
        return given, seen
    given = sent(given, -shift) if isinstance(given, Request) else given
    return given, observed(seen, shift)


class NumberedPort(PortInFront):
    """A port whose generations are `shift` higher than Kafka's; the methods are those of `Port`."""

    def __init__(self, port: Port, shift: int) -> None:
        super().__init__(port)
        self._shift = shift

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request."""
        return observed(super().request(sent(request, self._shift), expected), self._shift)

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Let time pass."""
        return observed(super().advance(ms, expected), self._shift)

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Apply a fault to the coordinator."""
        return observed(super().fault(fault, expected), self._shift)
