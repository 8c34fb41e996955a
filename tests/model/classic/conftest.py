"""After each test of the model its scenarios run on the implementation, too."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from support.scenario import check_implementation


@pytest.fixture(autouse=True)
def _implementation() -> Generator[None, None, None]:
    yield
    check_implementation()
