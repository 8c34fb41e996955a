"""What a test needs beyond PyPI: it is skipped where that is missing, unless all is required."""

from __future__ import annotations

import os
import shutil

import pytest


def needs(program: str) -> pytest.MarkDecorator:
    """Skip where the program is missing; with GROUPCHECK_REQUIRE_ALL set, run and fail instead."""
    missing = shutil.which(program) is None and "GROUPCHECK_REQUIRE_ALL" not in os.environ
    return pytest.mark.skipif(missing, reason=f"{program} is not on this machine")
