"""Verifications of benchmarks run to their end, or the script ends."""

from __future__ import annotations

import sys

from groupcheck.properties.result import Result
from groupcheck.properties.verify import Verification


def run_whole(verification: Verification) -> Result:
    """Run a verification. If it is interrupted, so is the script: half a result is a wrong row."""
    result = verification.run()
    if result.ended_early:
        sys.exit(f"ended early: {result.ended_early}")
    return result
