"""The HTML page: one file, which filters, sorts and shows witnesses in a real browser."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from groupcheck.cli import main
from groupcheck.properties.code.code import FileRan, FunctionRan, Label, coded
from groupcheck.properties.coverage.kind import Kind
from groupcheck.reports.changes import changes
from groupcheck.reports.explored_graphs import Graphs, explored_again
from groupcheck.reports.files import write
from groupcheck.reports.html import WORDS, as_html
from groupcheck.reports.record import ResultRecord
from groupcheck.reports.record_file import as_text
from support.browser import Browser, browser
from support.needs import needs
from support.saved_results import conforming, diverging

replace = msgspec.structs.replace


def _page(saved: ResultRecord, before: ResultRecord | None = None) -> str:
    return as_html(saved, changes(saved, before), explored_again(saved))


def _data(page: str) -> dict[str, Any]:
    """The data of the page's table."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


@pytest.fixture(scope="module")
def page() -> str:
    return _page(diverging())


def test_the_page_loads_nothing(page: str) -> None:
    assert "default-src 'none'" in page
    targets = re.findall(r'\b(?:src|href)="([^"]*)"', page)
    assert len(targets) > 5
    assert all(target.startswith(("#", "data:")) for target in targets)
    assert "@import" not in page
    assert "url(" not in page


def test_the_table_has_every_transition_once_with_its_outcome(page: str) -> None:
    saved, data = diverging(), _data(page)
    assert data["outcomes"] == "".join(each.outcomes for each in saved.instances)
    names = [data["texts"]["instance"][number] for number in data["columns"]["instance"]]
    assert Counter(names) == {each.label: each.transitions.total for each in saved.instances}
    assert {len(column) for column in data["columns"].values()} == {saved.transitions}


def test_text_of_a_port_is_escaped() -> None:
    odd = "</script><script>alert(1)</script><b>&\x1b"
    text = _page(replace(conforming(), port=odd, unsupported=(odd,)))
    assert "<script>alert" not in text
    assert "<b>" not in text
    assert "\x1b" not in text


def test_transitions_of_another_model_have_no_names() -> None:
    first, *others = conforming().instances
    saved = replace(conforming(), instances=(replace(first, digest="another"), *others))
    text = _page(saved)
    assert "The transitions of membership/1 have no names" in text
    assert len(_data(text)["outcomes"]) == sum(each.transitions.total for each in others)
    known = explored_again(replace(saved, profile="9.9"))
    assert known == Graphs((), ("membership/1", "metadata/1", "storing/1"))
    nothing = as_html(saved, changes(saved, None), known)
    assert 'id="data"' not in nothing
    assert "The transitions of membership/1, metadata/1, storing/1 have no names" in nothing


def test_findings_of_the_baseline_are_known() -> None:
    first, second = diverging().findings
    text = _page(diverging(), replace(diverging(), findings=(second,)))
    assert f"finding {first.id}" in text
    assert f"known {second.id}" in text
    assert f"new        1 finding: {first.id}" in text


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(as_text(conforming()))
    assert main(["report", str(tmp_path), "--html", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == _page(conforming())


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture
def opened(page: str, chromium: Browser, tmp_path: Path) -> Browser:
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    chromium.open(tmp_path / "page.html")
    return chromium


def _say(opened: Browser, where: str, text: str) -> None:
    """Set a field of the filter, as typing and choosing do."""
    script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
    opened.run(script, opened.one(where), text)


def _rows(page: str) -> list[dict[str, str]]:
    """The rows of the table, computed independently."""
    data = _data(page)
    return [
        {name: data["texts"][name][column[row]] for name, column in data["columns"].items()}
        for row in range(len(data["outcomes"]))
    ]


@needs("chromedriver")
def test_in_a_browser_it_opens_without_an_error(opened: Browser) -> None:
    assert opened.one("#count").text == "3,084 of 3,084 transitions"
    assert 10 < len(opened.all("#rows .row")) < 60  # those that can be seen, and a few more
    assert opened.run("return document.querySelector('.beside img').naturalWidth") > 300
    assert opened.run("return document.documentElement.scrollWidth <= innerWidth")
    assert opened.console() == []


@needs("chromedriver")
@pytest.mark.parametrize("width", [400, 1280])
def test_in_a_browser_the_page_of_a_report_is_as_wide_as_the_window(
    width: int, chromium: Browser, tmp_path: Path
) -> None:
    write(replace(diverging(), port=f"python:{'a_package.' * 9}Port"), tmp_path)
    metrics = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    chromium.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    chromium.open(tmp_path / "index.html")
    assert chromium.run("return document.documentElement.scrollWidth") <= width
    chromium.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@needs("chromedriver")
def test_in_a_browser_the_filter_filters(opened: Browser, page: str) -> None:
    _say(opened, "#search", "heartbeat ILLEGAL_generation")
    columns = ("instance", "before", "input", "answers", "rules", "after")
    found = [
        row
        for row in _rows(page)
        if all(
            any(word in row[name].lower() for name in columns)
            for word in ("heartbeat", "illegal_generation")
        )
    ]
    assert 0 < len(found) < 100
    assert opened.one("#count").text == f"{len(found)} of 3,084 transitions"
    assert "Heartbeat" in opened.run("return document.getElementById('row-0').textContent")
    _say(opened, "#search", "no edge has this")
    assert opened.one("#count").text == "0 of 3,084 transitions"
    assert opened.all("#rows .row") == []
    _say(opened, "#search", "")
    _say(opened, "#by-kind", "d")
    diverged = sum(each.transitions.diverged for each in diverging().instances)
    assert opened.one("#count").text == f"{diverged} of 3,084 transitions"
    assert opened.console() == []


@needs("chromedriver")
def test_in_a_browser_a_column_sorts_both_ways(opened: Browser, page: str) -> None:
    texts = sorted(row["answers"] for row in _rows(page))
    shown = "return document.querySelector('#row-0').children[4].textContent"
    button = opened.one("[data-sort=answers]")
    opened.run("arguments[0].click()", button)
    assert opened.run(shown) == texts[0]
    opened.run("arguments[0].click()", button)
    assert opened.run(shown) == texts[-1]
    header = opened.one("[aria-sort]")
    assert header.get_attribute("aria-sort") == "descending"


@needs("chromedriver")
def test_in_a_browser_the_keyboard_moves_through_the_table(opened: Browser) -> None:
    opened.one("#grid").send_keys("\ue010")  # End
    assert opened.one("#grid").get_attribute("aria-activedescendant") == "row-3083"
    # A scroll replaces the rows, so the script looks them up each time.
    chosen = "return document.querySelector('#rows .chosen').getAttribute('aria-rowindex')"
    assert opened.run(chosen) == "3085"  # the header is the first
    last = WORDS[Kind(diverging().instances[-1].outcomes[-1])]
    assert opened.one("#transition").text.splitlines()[0] == last
    opened.one("#grid").send_keys("\ue013")  # up
    assert opened.one("#grid").get_attribute("aria-activedescendant") == "row-3082"


@needs("chromedriver")
def test_in_a_browser_an_arrow_shows_its_witnesses_by_mouse_and_by_key(opened: Browser) -> None:
    arrows = opened.all(".graph .arrow")
    assert len(arrows) == 7
    arrows[1].find_element("css selector", "text").click()
    chosen = opened.one("details.chosen")
    assert chosen.get_attribute("id") == "arrow-1"
    assert chosen.text.startswith("Empty -> PreparingRebalance: ")
    assert "A sends JoinGroup v3 without a member id" in chosen.text
    opened.run("arguments[0].focus()", arrows[0])
    opened.driver.switch_to.active_element.send_keys("\ue007")  # Enter
    assert opened.one("details.chosen").get_attribute("id") == "arrow-0"
    opened.run("arguments[0].click()", opened.one("#arrow-0 [data-transitions-of]"))
    assert opened.one("#count").text.startswith("16 of ")
    assert opened.console() == []


@needs("chromedriver")
def test_in_a_browser_a_line_of_code_lists_its_transitions(
    chromium: Browser, tmp_path: Path
) -> None:
    label = Label("Stable", "Heartbeat", ("heartbeat/known",), "Stable")
    beat = FunctionRan("beat", (2, 3), frozenset({3}), 0, frozenset())
    file = FileRan("port.py", "def beat():\n    a()\n    b()\n", {2: frozenset({label})}, (beat,))
    code = coded([file], {label: 7})
    page = _page(replace(conforming(), code=code))
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    chromium.open(tmp_path / "page.html")
    chromium.run("document.querySelector('details.file').open = true")
    said = "Stable, Heartbeat -> Stable: heartbeat/known"
    chromium.one("tr[data-set]").click()
    assert [each.text for each in chromium.all(".transitions-of-line")] == [said]
    chromium.one("tr[data-set]").send_keys("\ue007")  # Enter
    assert [each.text for each in chromium.all(".transitions-of-line")] == [said]
    assert chromium.one("tr.never").text.split() == ["3", "never", "b()"]
    assert chromium.console() == []


@needs("chromedriver")
def test_the_page_has_a_dark_mode_and_printing_opens_all_details(opened: Browser) -> None:
    colour = "return getComputedStyle(document.body).backgroundColor"
    opened.prefer("prefers-color-scheme", "light")
    assert opened.run(colour) == "rgb(255, 255, 255)"
    opened.prefer("prefers-color-scheme", "dark")
    assert opened.run(colour) == "rgb(13, 17, 23)"
    opened.run("dispatchEvent(new Event('beforeprint'))")
    assert opened.run("return [...document.querySelectorAll('details')].every(d => d.open)")
