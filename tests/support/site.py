"""Hooks of MkDocs for the documentation site: pages outside docs/, and links to them.

In the repository a link leads to a file. On the site the files at the root are pages too, and the
README is the home page. Each other file that a page links to has its own page under source/.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
LANGUAGES: Final = {".py": "python", ".json": "json", ".js": "javascript"}

_LINK: Final = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")

_SOURCE: Final = """\
---
search: {{ exclude: true }}
---
# `{name}`

````````{language}
{text}
````````
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside docs/."""
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=_text(name)))
    pages = [each.src_uri for each in files.documentation_pages() if not each.generated_by]
    for name in sorted(_linked_files([*(f"docs/{page}" for page in pages), *PAGES])):
        language = LANGUAGES.get(Path(name).suffix, "")
        text = _SOURCE.format(name=name, language=language, text=_text(name).rstrip("\n"))
        files.append(File.generated(config, _page(name), content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links to files by links to pages of the site."""
    del config, files
    here = page.file.src_uri
    if here.startswith("source/"):
        return markdown
    name = next((name for name, each in PAGES.items() if each == here), f"docs/{here}")
    return _LINK.sub(lambda link: _page(_target(name, link[1])), markdown)


def _linked_files(pages: Iterable[str]) -> set[str]:
    """The files that pages link to and that are not pages."""
    targets = {_target(page, link) for page in pages for link in _LINK.findall(_text(page))}
    return {name for name in targets - PAGES.keys() if not name.startswith("docs/")}


def _target(page: str, link: str) -> str:
    """The target of a link on a page; both are paths in the repository."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def _page(name: str) -> str:
    """The path on the site of a file of the repository; all pages with links are at the root."""
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    return PAGES.get(name, f"source/{name}.md")


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")
