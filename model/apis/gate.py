"""The gate before each API: a coordinator that is shut down, loading or not the group's refuses.

In the APIs' own tables the rows stand behind that of an empty group id, as 2.7 has them
(GroupCoordinator.scala:856).
"""

from __future__ import annotations

from collections.abc import Callable

from groupcheck.model.state import Serving
from groupcheck.model.step import Rule, Step, gc
from groupcheck.model.vocabulary import ErrorCode, Request

Then = Callable[[Step, Request], None]


def gate(
    api: str,
    refuse: Callable[[ErrorCode], Then],
    while_loading: ErrorCode = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    loading_source: str = gc(861),
) -> tuple[Rule, ...]:
    """The rows of an API: how it refuses with an error, and what it says while loading."""
    return (
        Rule(
            f"{api}/not-active",
            "the coordinator is shut down",
            gc(859),
            when=lambda step, _request: not step.active,
            then=refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE),
        ),
        Rule(
            f"{api}/loading",
            "the group is being loaded",
            loading_source,
            when=lambda step, _request: step.serving is Serving.LOADING,
            then=refuse(while_loading),
        ),
        Rule(
            f"{api}/not-coordinator",
            "this is not the group's coordinator",
            gc(863),
            when=lambda step, _request: step.serving is not Serving.SERVED,
            then=refuse(ErrorCode.NOT_COORDINATOR),
        ),
    )
