"""The error of the pipeline; its message is one line for the user."""

from __future__ import annotations


class PipelineError(Exception):
    """The job fails; the message says why."""
