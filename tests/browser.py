"""A Chromium of its own for a test, without a window; ``conftest.py`` has a fixture of it."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bounds import HANG
from tests.mesos.genuine.conftest import unavailable

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--disable-extensions", "--no-proxy-server"),
)


@contextmanager
def chromium(*flags):
    """A WebDriver of selenium. What the browser writes is gone with it."""
    # Not in the directory of the test: the path of a socket of the browser would be too long.
    with TemporaryDirectory(prefix="browser-", dir="/tmp", ignore_cleanup_errors=True) as place:
        opened = _opened(Path(place), flags)
        try:
            yield opened
        finally:
            opened.quit()


def _opened(place, flags):
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (program and driver):
        unavailable("no browser: apt install chromium chromium-driver")
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        unavailable("selenium is not installed: pip install selenium")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={place}/profile", *flags):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options, Service(driver, env=_environment(place)))
    opened.set_page_load_timeout(HANG)
    opened.set_script_timeout(HANG)
    return opened


def _environment(place):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
    return {**kept, "HOME": str(place), "TMPDIR": str(place)}


def until(browser, condition):
    """What *condition* returns, as soon as it is something. Elements that are replaced while one
    looks at them are looked for again."""
    from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
    from selenium.webdriver.support.ui import WebDriverWait

    passing = (NoSuchElementException, StaleElementReferenceException)
    return WebDriverWait(browser, HANG, 0.05, passing).until(lambda _: condition())


def until_text(browser, *texts):
    """Wait until the page shows all of *texts*; returns all that it shows."""
    from selenium.webdriver.common.by import By

    def shown():
        text = browser.find_element(By.TAG_NAME, "body").text
        return text if all(one in text for one in texts) else None

    return until(browser, shown)


def at_width(browser, width):
    """The *browser*, with a window of *width* pixels; a narrow one is that of a phone."""
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    return browser
