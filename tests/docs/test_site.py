"""The site: built without a warning, nothing loaded from any network, and a browser shows it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from support.browser import Browser, browser
from support.documented import PAGES
from support.needs import needs
from support.scenarios import ROOT

LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "srcset", "object": "data"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    # With --quiet it would be strict about nothing: warnings that are not logged do not count.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir"]
    done = subprocess.run(
        [*command, str(made)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return made


class _Page(HTMLParser):
    """What a page loads, where it leads, and which places in it have names."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.links: list[str] = []
        self.places = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        name = "href" if tag == "link" and said.get("rel") != "canonical" else LOADED.get(tag, "")
        self.addresses += filter(None, [said.get(name)])
        self.links += filter(None, [said.get("href") if tag == "a" else None])
        self.places.add(said.get("id") or "")


def test_no_page_loads_anything_from_a_network(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for path in pages:
        addresses = _Page(path).addresses
        assert not [each for each in addresses if re.match(r"(https?:)?//", each)], path


def test_every_link_leads_to_a_page_and_a_place_that_are_there(site: Path) -> None:
    pages = {path: _Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    followed = 0
    for path, page in pages.items():
        for link in map(urlsplit, page.links):
            if not link.scheme:
                target = (path.parent / unquote(link.path)).resolve() if link.path else path
                target = target / "index.html" if target.is_dir() else target
                assert target in pages or target.exists(), f"{path}: {link.geturl()}"
                if target in pages:
                    places = pages[target].places
                    assert unquote(link.fragment) in places, f"{path}: {link.geturl()}"
                followed += 1
    assert followed > 1_000


def test_a_link_to_elsewhere_is_encrypted() -> None:
    for page in [*PAGES, ROOT / "CHANGELOG.md", ROOT / "mkdocs.yml"]:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"http://(?!localhost|127\.)\S+", text), page


def test_no_style_loads_anything_from_a_network(site: Path) -> None:
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", path.read_text(encoding="utf-8"))


def test_the_readme_is_the_home_page_and_a_link_to_a_file_shows_it(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="start.html"' in home
    assert 'href="source/LICENSE.html"' in home
    assert "Apache License" in (site / "source" / "LICENSE.html").read_text(encoding="utf-8")


class _Handler(SimpleHTTPRequestHandler):
    """Serves the site, and says nothing."""

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    """The address of the site on this machine: from a file a browser lets no page search."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(site)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def _wait_for(opened: Browser, script: str) -> Any:
    """What a script comes to, once it comes to something."""
    waiting = f"const done = arguments[0], look = () => {{ const found = {script};"
    return opened.driver.execute_async_script(
        f"{waiting} found ? done(found) : setTimeout(look, 50); }}; look();"
    )


@needs("chromedriver")
def test_in_a_browser_the_site_opens_is_gone_through_and_searched(served: str) -> None:
    with browser() as opened:
        opened.driver.set_script_timeout(20)
        opened.driver.get(f"{served}/index.html")
        assert "groupcheck" in opened.driver.title
        opened.run("arguments[0].click()", opened.one(".md-tabs a[href='start.html']"))
        assert _wait_for(opened, "location.pathname == '/start.html'")
        assert opened.one("h1").text.startswith("Five minutes")
        opened.one("[data-md-component=search-query]").send_keys("baseline")
        first = "document.querySelector('.md-search-result__link')?.href"
        found = _wait_for(opened, first)
        opened.driver.get(found)
        assert "baseline" in opened.one("article").text
        here = urlsplit(found).path
        opened.run("document.querySelector('.md-footer__link--next').click()")
        assert _wait_for(opened, f"location.pathname != '{here}' && document.title")
        assert opened.console() == []


@needs("chromedriver")
def test_in_a_browser_the_site_opens_from_files_as_well(site: Path) -> None:
    with browser() as opened:
        for name in ("index", "reports", "commands"):
            opened.open(site / f"{name}.html")
            assert opened.one("h1").text
            assert opened.console() == []
