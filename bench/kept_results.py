"""Results of an earlier run, of which another run has replaced a part."""

from __future__ import annotations

from typing import Any


def replaced(before: Any, after: Any, parts: str, of: str) -> Any:
    """A result with other results of some parts, and the findings of these.

    Args:
        before: the earlier result.
        after: the later one, of some parts only.
        parts: the field with the parts, each with a name.
        of: the field of a finding that has the name of its part.
    """
    later = {each["name"]: each for each in after[parts]}
    known = {each["name"] for each in before[parts]}
    kept = [each for each in before["findings"] if each[of] not in later]
    return {
        **after,
        parts: [
            *(later.get(each["name"], each) for each in before[parts]),
            *(each for name, each in later.items() if name not in known),
        ],
        "findings": [*kept, *after["findings"]],
        "verdict": before["verdict"] if kept else after["verdict"],
    }
