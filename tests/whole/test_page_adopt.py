"""A lost run on the page, in a real browser."""

from __future__ import annotations

import signal

import pytest
from selenium.webdriver.common.by import By

from tests.bounds import HANG
from tests.browser import until, until_text
from tests.commands import read_until, running_tfrun, standing_mesos, tfrun
from tests.ports import offered_ports

SCRIPT = "echo up; until [ -e {0}/go ]; do sleep 0.05; done; echo done"


@pytest.fixture
def mesos():
    with standing_mesos(f"--resources=cpus:2;mem:1024;{offered_ports()}") as url:
        yield url.removeprefix("http://")


@pytest.fixture
def page():
    """The link to a page that is served while the test runs."""
    with running_tfrun("ui", "--no-browser") as ui:
        yield ui.stdout.readline().strip()
        ui.send_signal(signal.SIGINT)
        assert ui.wait(HANG) == 0


@pytest.fixture
def lost(mesos, tmp_path):
    """The id of a run that has lost its launcher."""
    flags = ("-m", mesos, "-w", 1, "-Cw", 0.1, "--survive", "2m")
    with running_tfrun(*flags, "--", SCRIPT.format(tmp_path)) as launcher:
        read_until(launcher.stdout, "[worker:0] up")
        launcher.kill()
        launcher.wait()
    return tfrun("list").stdout.splitlines()[1].split()[0]


def button(browser, label):
    return browser.find_element(By.XPATH, f"//button[.='{label}']")


def test_a_lost_run_is_adopted_by_a_button_and_goes_on_before_the_eyes_of_its_owner(
    page, browser, lost, tmp_path
):
    browser.get(page)
    until_text(browser, "lost, can be adopted until")
    browser.find_element(By.CSS_SELECTOR, ".runs tbody a").click()
    until_text(browser, f"tfrun adopt {lost} continues it", "worker:0")
    assert not button(browser, "Show stacks").is_displayed()
    button(browser, "Adopt the run").click()
    until(browser, lambda: browser.find_element(By.CSS_SELECTOR, ".title .state").text == "running")
    assert not button(browser, "Adopt the run").is_displayed()
    (tmp_path / "go").touch()
    until_text(browser, "succeeded", "done")
    assert tfrun("wait", lost).returncode == 0


def test_a_lost_run_is_stopped_from_the_page_and_one_that_cannot_be_adopted_says_why(
    page, browser, lost, recorded_runs
):
    about = recorded_runs / "tfmesos" / "runs" / lost / "run.json"
    kept = about.read_text()
    browser.get(page)
    until_text(browser, "lost, can be adopted until")
    browser.find_element(By.CSS_SELECTOR, ".runs tbody a").click()
    until(browser, lambda: button(browser, "Adopt the run").is_displayed())
    about.write_text(kept.replace('"tfmesos": "', '"tfmesos": "9'))
    button(browser, "Adopt the run").click()
    until_text(browser, "it was started by tfmesos 9")
    about.write_text(kept)
    button(browser, "Stop the run").click()
    until(browser, lambda: browser.find_element(By.ID, "question-yes").is_displayed())
    browser.find_element(By.ID, "question-yes").click()
    until_text(browser, "stopped (130)")
    assert not button(browser, "Adopt the run").is_displayed()
