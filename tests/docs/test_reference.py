"""The pages of reference say what is there now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.reference import PAGES


@pytest.mark.parametrize(("path", "page"), PAGES.items(), ids=[path.name for path in PAGES])
def test_a_page_of_reference_is_what_its_program_writes(
    path: Path, page: Callable[[], str]
) -> None:
    assert path.read_text(encoding="utf-8") == page(), "tests/support/reference.py writes it"
