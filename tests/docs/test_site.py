"""The site: it is built without a warning, and loads nothing from any network."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from support.scenarios import ROOT

LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "srcset", "object": "data"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir"]
    done = subprocess.run(
        [*command, str(made)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return made


class _Loaded(HTMLParser):
    """What a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        name = "href" if tag == "link" and said.get("rel") != "canonical" else LOADED.get(tag, "")
        self.addresses += filter(None, [said.get(name)])


def test_no_page_loads_anything_from_a_network(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for path in pages:
        page = _Loaded()
        page.feed(path.read_text(encoding="utf-8"))
        assert not [each for each in page.addresses if re.match(r"(https?:)?//", each)], path


def test_no_style_loads_anything_from_a_network(site: Path) -> None:
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", path.read_text(encoding="utf-8"))


def test_the_readme_is_the_home_page_and_a_link_to_a_file_shows_it(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="start.html"' in home
    assert 'href="source/LICENSE.html"' in home
    assert "Apache License" in (site / "source" / "LICENSE.html").read_text(encoding="utf-8")
