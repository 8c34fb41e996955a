"""Headless Chromium, as packaged by Debian, with what tests read from a page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selenium import webdriver

if TYPE_CHECKING:
    from selenium.webdriver.remote.webelement import WebElement

ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # small in containers
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1300,1000",
)

ANSWER_S = 120  # a stalled browser never answers


class Browser:
    """A browser with short names for what tests need."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, path: Path) -> None:
        self.driver.get(path.as_uri())

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element("css selector", selector)

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def console(self) -> list[str]:
        """New messages of the console: errors, refused requests, warnings."""
        log: Any = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in log]

    def prefer(self, feature: str, value: str) -> None:
        """Set a media feature, such as the colour scheme."""
        features = {"features": [{"name": feature, "value": value}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", features)


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser, closed at the end; selenium does not download one."""
    options = webdriver.ChromeOptions()
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    executor: Any = driver.command_executor
    executor.client_config.timeout = ANSWER_S
    try:
        yield Browser(driver)
    finally:
        driver.quit()
