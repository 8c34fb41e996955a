"""The errors of a log; each message is one line."""

from __future__ import annotations


class LogError(Exception):
    """The log cannot be used."""


class LogLockedError(LogError):
    """Another process uses the directory."""


class LogCorruptError(LogError):
    """The stored bytes are not valid; the message names file and position."""


class CorruptRecordError(LogError):
    """Bytes that are not a record, or not one of a known version."""


class UnknownRecordTypeError(LogError):
    """A key of an unknown version: a record of another kind than groups and offsets."""


class UnwritableRecordError(LogError):
    """A record that the format cannot represent: a string is too long, or a number out of range."""
