"""Response matching: whether an answer is the allowed one, first literally, then normalised.

Every step of a walk runs the literal match, so it is fast.
"""

from __future__ import annotations

from groupcheck.model.vocabulary import ResponseBody
from groupcheck.properties.compare import normal, with_anything_as
from groupcheck.properties.generators.precomputed import AllowedAnswer
from groupcheck.properties.generators.walk_state import WalkState
from groupcheck.properties.ports.numbering import shifted


def matches_literally(allowed: AllowedAnswer, answer: ResponseBody, at: WalkState) -> bool:
    """Whether an answer is equal to the allowed one with the port's member ids and generation."""
    if type(allowed.body) is not type(answer):
        return False
    return bool(allowed.template(at.names, at.generation_offset) == answer)


def matches(allowed: AllowedAnswer, answer: ResponseBody, at: WalkState, version: int) -> bool:
    """Whether an answer to a request of that version has the normal form of the allowed one."""
    if type(allowed.body) is not type(answer):
        return False
    known = {name: name for name, real in at.names.items() if real in at.revealed}
    seen = normal(answer, {at.names[name]: name for name in known}, version)
    expected = with_anything_as(seen, shifted(allowed.body, at.generation_offset))
    return seen == normal(expected, known, version)
