"""The generated reference pages are up to date."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.reference import PAGES


@pytest.mark.parametrize(("path", "page"), PAGES.items(), ids=[path.name for path in PAGES])
def test_a_reference_page_is_up_to_date(path: Path, page: Callable[[], str]) -> None:
    assert path.read_text(encoding="utf-8") == page(), "run tests/support/reference.py"
