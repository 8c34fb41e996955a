"""What can be wrong with a log, as exceptions whose text is one line for a person to read."""

from __future__ import annotations


class LogError(Exception):
    """The log cannot be used as it was asked to."""


class LogLockedError(LogError):
    """Another process uses the directory."""


class LogCorruptError(LogError):
    """What is stored is not what was written; the text names file and position."""


class CorruptRecordError(LogError):
    """Bytes that are no record, or none of a version that is known."""


class UnknownRecordTypeError(LogError):
    """A key of a version that is not known: a record of something that is none of ours."""


class UnwritableRecordError(LogError):
    """A record that the format cannot hold: a string that is too long, a number out of range."""
