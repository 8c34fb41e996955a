"""What a run of the tests spares itself; it imports nothing that is measured.

Spaces are explored once for all its processes (`spaces.py`), and there is no coverage while they
are explored, or gone over edge by edge: traced it takes twice as long, and the thousandth state
shows no line that the tenth did not. What is run there is measured in the tests beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SHARED: Final = "GROUPCHECK_TESTS_SPACES"
"""Names the directory of this run of the tests, in which spaces are kept for its processes."""


@contextmanager
def untraced() -> Iterator[None]:
    """Go on without the trace function, and put it back."""
    tracing = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracing)
