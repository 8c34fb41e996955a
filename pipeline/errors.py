"""The one error of the pipeline, whose message is for the person who asked for the run."""

from __future__ import annotations


class PipelineError(Exception):
    """The run is impossible; the message says why in a line."""
