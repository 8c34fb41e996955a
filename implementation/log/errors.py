"""The errors of a log; each message is one line."""

from __future__ import annotations


class LogError(Exception):
    """The log cannot be used."""


class LogLockedError(LogError):
    """Another process uses the directory."""


class LogCorruptError(LogError):
    """The stored bytes are not what was written; the message names file and position."""


class CorruptRecordError(LogError):
    """Bytes that are not a record, or not one of a known version."""


class UnknownRecordTypeError(LogError):
    """A key of an unknown version: a record that does not concern consumer groups."""


class UnwritableRecordError(LogError):
    """A record that the format cannot hold: a string is too long, or a number out of range."""
