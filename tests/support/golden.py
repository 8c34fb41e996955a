"""Compares text with a golden file; `UPDATE_GOLDEN=1 pytest tests/reports` writes the files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[1] / "reports" / "golden"


def assert_golden(name: str, text: str) -> None:
    """Fail unless the text is that of the file."""
    path = FOLDER / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
