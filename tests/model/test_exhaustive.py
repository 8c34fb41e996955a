"""The exhaustive tests passed with the rules as they are now."""

from __future__ import annotations

import pytest

from support import record_exhaustive
from support.record_exhaustive import STALE, digest, recorded


def test_the_exhaustive_tests_passed_with_these_rules() -> None:
    assert recorded() == digest(), STALE


def test_a_change_of_the_sources_makes_the_record_out_of_date_but_a_comment_does_not() -> None:
    before, sources = digest(), list(record_exhaustive._sources())
    assert len(sources) > 100
    texts = {file: file.read_text(encoding="utf-8") for file in sources}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_exhaustive, "_sources", lambda: iter(sources))
        patch.setattr("pathlib.Path.read_text", lambda file, **_: texts[file])
        texts[sources[0]] += "# a comment\n"
        assert digest() == before
        texts[sources[0]] += "x = 1\n"
        assert digest() != before
