"""Moved to `groupcheck.model.engine.graph`."""

from groupcheck.model.engine.graph import (
    Component,
    StateGraph,
    UnreachableRuleError,
    check_every_rule_is_reached,
)
from groupcheck.model.engine.graph import TransitionReference as Hop

__all__ = ["Component", "Hop", "StateGraph", "UnreachableRuleError", "check_every_rule_is_reached"]
