"""The documentation site: no warning, no external resource, working links, and a browser test."""

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
from support.marked_tests import ROOT
from support.needs import needs

LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "srcset", "object": "data"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    # Without --quiet: --strict counts logged warnings only.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir"]
    done = subprocess.run(
        [*command, str(made)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return made


class _Page(HTMLParser):
    """The resources that a page loads, its links, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.links: list[str] = []
        self.anchors = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        name = (
            "href"
            if tag == "link" and attributes.get("rel") != "canonical"
            else LOADED.get(tag, "")
        )
        self.addresses += filter(None, [attributes.get(name)])
        self.links += filter(None, [attributes.get("href") if tag == "a" else None])
        self.anchors.add(attributes.get("id") or "")


@pytest.mark.slow
def test_no_page_loads_an_external_resource(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for path in pages:
        addresses = _Page(path).addresses
        assert not [each for each in addresses if re.match(r"(https?:)?//", each)], path


def test_every_link_has_an_existing_page_and_anchor(site: Path) -> None:
    pages = {path: _Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    followed = 0
    for path, page in pages.items():
        for link in map(urlsplit, page.links):
            if not link.scheme:
                target = (path.parent / unquote(link.path)).resolve() if link.path else path
                target = target / "index.html" if target.is_dir() else target
                assert target in pages or target.exists(), f"{path}: {link.geturl()}"
                if target in pages:
                    anchors = pages[target].anchors
                    assert unquote(link.fragment) in anchors, f"{path}: {link.geturl()}"
                followed += 1
    assert followed > 1_000


def test_external_links_use_https() -> None:
    for page in [*PAGES, ROOT / "CHANGELOG.md", ROOT / "mkdocs.yml"]:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"http://(?!localhost|127\.)\S+", text), page


def test_no_style_sheet_loads_an_external_resource(site: Path) -> None:
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", path.read_text(encoding="utf-8"))


def test_the_readme_is_the_home_page_and_linked_files_are_pages(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="start.html"' in home
    assert 'href="source/LICENSE.html"' in home
    assert "Apache License" in (site / "source" / "LICENSE.html").read_text(encoding="utf-8")


class _Handler(SimpleHTTPRequestHandler):
    """Serves the site without logging."""

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    """The address of the site on a local web server, which the search needs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(site)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def _wait_for(opened: Browser, script: str) -> Any:
    """The value of a script, once it is true."""
    waiting = f"const done = arguments[0], look = () => {{ const found = {script};"
    return opened.driver.execute_async_script(
        f"{waiting} found ? done(found) : setTimeout(look, 50); }}; look();"
    )


@needs("chromedriver")
def test_a_browser_opens_navigates_and_searches_the_site(served: str) -> None:
    with browser() as opened:
        opened.driver.set_script_timeout(20)
        opened.driver.get(f"{served}/index.html")
        assert "groupcheck" in opened.driver.title
        opened.run("arguments[0].click()", opened.one(".md-tabs a[href='start.html']"))
        assert _wait_for(opened, "location.pathname == '/start.html'")
        assert opened.one("h1").text.startswith("Tutorial")
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
def test_a_browser_opens_the_site_from_files(site: Path) -> None:
    with browser() as opened:
        for name in ("index", "reports", "commands"):
            opened.open(site / f"{name}.html")
            assert opened.one("h1").text
            assert opened.console() == []
