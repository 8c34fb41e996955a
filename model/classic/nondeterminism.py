"""Kafka's nondeterminism: the choices that Kafka leaves open, and how the model handles each.

A coordinator may make these choices and no others. Each choice in the model, and each allowed
difference of two answers, names one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Choice(StrEnum):
    """A choice that Kafka leaves open; the value is its description."""

    MEMBER_IDS = "which member ids the coordinator generates"
    LEADER = "which member becomes leader after the leader leaves"
    VOTE_TIE = "which protocol wins a tied vote"
    LIST_ORDER = "the order of members, groups, topics and partitions in a response"
    ANSWER_ORDER = "the order of the responses to different requests in one step"
    TIMER_SLACK = "how late a timer fires on a real clock"
    DEADLINE = "whether a request is handled before or after a timer that is due"
    APPEND_WINDOW = (
        "which requests and timers are handled between an append to the log and its completion"
    )
    INITIAL_DELAY = "when the initial delay ends, between its length and the rebalance timeout"
    OVER_MAX_SIZE = "which members a full group rejects"
    FAILOVER = "when a group is unloaded and loaded again, and which changes are lost"
    UNANSWERED = (
        "whether a request gets a response after its member was removed or has sent it again"
    )
    NOT_PERSISTED = (
        "whether a group without a written record is visible, and survives a failed append"
    )
    WORDS = "throttle times, error messages and reasons"
    SNAPSHOT = "between which steps a request reads the state of a group"
    EXTRA_ASSIGNMENTS = (
        "how assignments to an unknown member, and two assignments to one member, are handled"
    )
    MARKER_ORDER = "whether a commit is in the log before a transaction's marker or after it"
    TIMERS_DUE_TOGETHER = "in which order timers of the same instant fire"
    HALF_A_MARKER = "which offsets a transaction marker changes before it fails"
    COMPACTION = "whether deleted and aborted offsets are compacted before the log is loaded"
    LOADED_INSTANCE = (
        "which of two members with one group.instance.id keeps it when the group is loaded"
    )


class Handling(StrEnum):
    """How the model handles a choice."""

    CHOICE = "the model has every outcome"
    COMPARED = "the comparison of responses ignores it"
    INPUT = "the test decides it, by an input or the order of two inputs"
    EXACT = "each version has one behaviour, and so has its profile"
    ABSENT = "responses of the model do not contain it"


HANDLING: Final[Mapping[Choice, Handling]] = MappingProxyType(
    {
        Choice.MEMBER_IDS: Handling.COMPARED,
        Choice.LEADER: Handling.CHOICE,
        Choice.VOTE_TIE: Handling.CHOICE,
        Choice.LIST_ORDER: Handling.COMPARED,
        Choice.ANSWER_ORDER: Handling.COMPARED,
        Choice.TIMER_SLACK: Handling.CHOICE,
        Choice.DEADLINE: Handling.INPUT,
        Choice.APPEND_WINDOW: Handling.INPUT,
        Choice.INITIAL_DELAY: Handling.INPUT,
        Choice.OVER_MAX_SIZE: Handling.INPUT,
        Choice.FAILOVER: Handling.INPUT,
        Choice.UNANSWERED: Handling.EXACT,
        Choice.NOT_PERSISTED: Handling.CHOICE,
        Choice.WORDS: Handling.ABSENT,
        Choice.SNAPSHOT: Handling.INPUT,
        Choice.EXTRA_ASSIGNMENTS: Handling.EXACT,
        Choice.MARKER_ORDER: Handling.INPUT,
        Choice.TIMERS_DUE_TOGETHER: Handling.CHOICE,
        Choice.HALF_A_MARKER: Handling.CHOICE,
        Choice.COMPACTION: Handling.CHOICE,
        Choice.LOADED_INSTANCE: Handling.CHOICE,
    }
)
