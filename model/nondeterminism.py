"""Kafka's nondeterminism: each choice by its name, and how the model has it.

A coordinator may choose these and nothing else. Each choice in the model, and each allowed
difference of two answers, names one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Choice(StrEnum):
    """What Kafka does not determine, in words."""

    MEMBER_IDS = "which member ids are given out"
    LEADER = "which member leads after the leader left"
    VOTE_TIE = "which protocol wins a tied vote"
    LIST_ORDER = "the order of members, groups, topics and partitions in an answer"
    ANSWER_ORDER = "the order of the answers that one step gives to different requests"
    TIMER_SLACK = "how late a timer fires on a real clock"
    DEADLINE = "whether a request comes before or after a timer that is due"
    APPEND_WINDOW = "what comes between an append to the log and its completion"
    INITIAL_DELAY = "when the initial delay ends, between its length and the rebalance timeout"
    OVER_MAX_SIZE = "which members a full group rejects"
    FAILOVER = "when a group is lost, loaded and served again, and what is lost with it"
    UNANSWERED = "whether a request is answered whose member is gone, or has sent it again"
    UNWRITTEN = (
        "whether a group shows, and outlives an append that fails, of which nothing was written yet"
    )
    WORDS = "throttle times, messages and reasons"
    SNAPSHOT = "between which steps a group is described or listed"
    EXTRA_ASSIGNMENTS = "what becomes of assignments to no member, and of two to one member"
    MARKER_ORDER = "whether a commit is in the log before a transaction's marker or after it"
    TIMERS_DUE_TOGETHER = "in which order timers of the same instant fire"
    HALF_A_MARKER = "which offsets a marker comes to before it fails"
    COMPACTION = "whether deleted and aborted offsets are compacted before the log is loaded"
    LOADED_INSTANCE = (
        "which of two members with one group.instance.id has it once the group is loaded"
    )


class Handling(StrEnum):
    """How the model has it."""

    CHOICE = "every outcome is one of the model's"
    COMPARED = "answers that differ in it alone are the same"
    INPUT = "it is an input, or the order of two: the model follows what was done"
    EXACT = "a version does one thing, and so does its profile"
    ABSENT = "it is no part of an answer as the model knows it"


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
        Choice.UNWRITTEN: Handling.CHOICE,
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
