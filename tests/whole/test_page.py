"""The page of all runs, in a real browser, while real runs go on."""

import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from tests.bounds import HANG
from tests.browser import chromium, until, until_text
from tests.commands import finish, read_until, running_tfrun, tfrun, wait_for_output
from tests.sentences import names

UNTIL_STOPPED = "trap 'echo stopped; exit 0' TERM; echo begun; sleep 600 & wait"
EVIL = '<img src=x onerror="document.title=1"><script>document.title=1</script>'

WIDTH = "return document.documentElement.scrollWidth"


@pytest.fixture
def page():
    """The link to a page that is served while the test runs."""
    with running_tfrun("ui", "--no-browser") as ui:
        yield ui.stdout.readline().strip()
        ui.send_signal(signal.SIGINT)
        assert ui.wait(HANG) == 0


@pytest.fixture
def detached():
    """The id of a run of two workers that goes on until it is stopped."""
    run_id = tfrun("--detach", "-w", 2, "--", UNTIL_STOPPED).stdout.strip()
    wait_for_output(run_id, "[worker:0] begun", "[worker:1] begun")
    yield run_id
    tfrun("stop", run_id)


def button(browser, label):
    return browser.find_element(By.XPATH, f"//button[.='{label}' or @aria-label='{label}']")


def confirm(browser):
    until(browser, lambda: browser.find_element(By.ID, "question-yes").is_displayed())
    browser.find_element(By.ID, "question-yes").click()


def complaints(browser):
    return [entry["message"] for entry in browser.get_log("browser")]


def test_a_run_appears_by_itself_with_its_live_output_and_the_reason_of_its_failure(page, browser):
    browser.get(page)
    until_text(browser, "There are no runs yet")
    assert "token" not in browser.current_url
    script = "echo 'step 1'; read go < {0}; echo 'no such file: data.csv' >&2; exit 3"
    fifo = Path(os.environ["XDG_STATE_HOME"], "go")
    os.mkfifo(fifo)
    with running_tfrun("-w", 1, "--", script.format(fifo)) as run:
        until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, ".runs tbody a"))
        until_text(browser, "running")
        browser.find_element(By.CSS_SELECTOR, ".runs tbody a").click()
        assert "Why it failed" not in until_text(
            browser, "step 1", "worker:0", "127.0.0.1:", "live"
        )
        fifo.write_text("on\n")
        finish(run)
    text = until_text(browser, "Why it failed", "failed (3)")
    assert "worker:0 exited with 3" in text and "no such file: data.csv" in text
    assert browser.find_element(By.CSS_SELECTOR, ".timeline circle.failed")
    assert complaints(browser) == []


def test_a_task_is_restarted_and_the_run_stopped_from_the_page(page, browser, detached):
    browser.get(page)
    until(browser, lambda: browser.find_element(By.LINK_TEXT, detached)).click()
    until_text(browser, "begun")
    button(browser, "Restart worker:1").click()
    browser.find_element(By.ID, "question-no").click()  # not yet
    button(browser, "Restart worker:1").click()
    confirm(browser)
    row = "//tr[th='worker:1']/td[@data-name='Restarts']"
    until(browser, lambda: browser.find_element(By.XPATH, row).text == "1")
    until(
        browser, lambda: browser.find_element(By.XPATH, "//tr[th='worker:1']").text.count("running")
    )
    begun = "begun\nstopped\nbegun\n"  # its trap is set
    until(browser, lambda: tfrun("logs", detached, "worker:1").stdout == begun)
    button(browser, "Stop the run").click()
    confirm(browser)
    until_text(browser, "stopped (130)", "stopped by its owner")
    assert tfrun("wait", detached).returncode == 130
    assert not button(browser, "Stop the run").is_displayed()
    output = Select(browser.find_element(By.ID, "task"))
    output.select_by_value("worker:1")
    until(browser, lambda: lines(browser) == ["begun", "stopped", "begun", "stopped"])
    assert "task=worker%3A1" in browser.current_url
    assert complaints(browser) == []


def lines(browser):
    return [one.text for one in browser.find_elements(By.CSS_SELECTOR, ".line span")]


def test_on_a_narrow_screen_nothing_is_cut_and_the_keyboard_is_enough(page, browser, detached):
    metrics = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(page)
    link = until(browser, lambda: browser.find_element(By.LINK_TEXT, detached))
    assert browser.execute_script(WIDTH) <= 400
    link.send_keys(Keys.ENTER)
    until_text(browser, "begun", "How it was started")
    assert browser.execute_script(WIDTH) <= 400
    button(browser, "Stop the run").send_keys(Keys.ENTER)
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    assert not browser.find_element(By.ID, "question").is_displayed()
    button(browser, "Stop the run").send_keys(Keys.ENTER)
    ActionChains(browser).send_keys(Keys.TAB, Keys.ENTER).perform()
    until_text(browser, "stopped by its owner")


def test_the_tensorboard_of_a_run_is_linked_to_while_it_runs(page, browser, tmp_path):
    flags = ("--detach", "-w", 1, "--tensorboard", tmp_path)
    run_id = tfrun(*flags, "--", UNTIL_STOPPED, cwd=tmp_path).stdout.strip()
    browser.get(page)
    until(browser, lambda: browser.find_element(By.LINK_TEXT, run_id)).click()
    link = until(browser, lambda: browser.find_element(By.LINK_TEXT, "TensorBoard ↗"))
    assert link.get_dom_attribute("href") in tfrun("status", run_id).stdout.split()
    assert link.get_dom_attribute("rel") == "noopener noreferrer"
    tfrun("stop", run_id)
    until(browser, lambda: not browser.find_elements(By.LINK_TEXT, "TensorBoard ↗"))


def test_a_page_that_is_no_longer_served_says_that_it_is_not_live(browser):
    with running_tfrun("ui", "--no-browser") as ui:
        browser.get(ui.stdout.readline().strip())
        until_text(browser, "There are no runs yet")
        ui.send_signal(signal.SIGINT)
        assert ui.wait(HANG) == 0
        until_text(browser, "not live")


def test_what_tasks_and_users_write_stays_text(page, browser):
    command = ("sh", "-c", 'echo "$0"; echo "$0" >&2; exit 1', EVIL)
    assert tfrun("-w", 1, "-n", EVIL, "--", *command).returncode == 1
    browser.get(page)
    until_text(browser, EVIL)
    browser.find_element(By.CSS_SELECTOR, ".runs tbody a").click()
    until_text(browser, "Why it failed", "How it was started")
    until(browser, lambda: lines(browser) == [EVIL, EVIL])
    assert until_text(browser, EVIL).count(EVIL) >= 3  # command, report, output
    browser.find_element(By.ID, "find").send_keys("<IMG")
    until(browser, lambda: len(browser.find_elements(By.TAG_NAME, "mark")) == 2)
    assert browser.title.endswith(" · tfrun")
    assert len(browser.find_elements(By.TAG_NAME, "img")) == 1  # the page's own
    assert complaints(browser) == []


def test_ten_thousand_lines_stay_few_on_the_page_and_the_search_finds_them_all(page, browser):
    assert tfrun("-w", 1, "--logs", "none", "--", "seq 10000").returncode == 0
    browser.get(page)
    until(browser, lambda: browser.find_element(By.CSS_SELECTOR, ".runs tbody a")).click()
    until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, ".line:last-child"))
    shown = "return [...document.querySelectorAll('.line span')].map(line => line.textContent)"
    assert browser.execute_script(shown) == [str(n) for n in range(8001, 10001)]
    assert "8000 before them" in browser.find_element(By.CSS_SELECTOR, ".before").text
    browser.find_element(By.ID, "find").send_keys("777")
    wanted = [str(n) for n in range(10001) if "777" in str(n)]
    until(browser, lambda: browser.execute_script(shown) == wanted)


def test_without_the_link_a_browser_sees_nothing(page, browser, detached):
    place = re.match(r"http://[\d.:]+/[^/]+/", page)[0]
    for address in (place, f"{place}?run={detached}", f"{place}events", page[:-1] + "x"):
        browser.get(address)
        text = until_text(browser, "fresh link")
        assert detached not in text and "worker" not in text
    browser.get(page)
    until_text(browser, detached)
    browser.delete_all_cookies()
    browser.get(page)  # was used
    until_text(browser, "fresh link")


def test_a_name_that_points_to_this_machine_opens_nothing(page):
    with chromium("--host-resolver-rules=MAP evil.test 127.0.0.1") as browser:
        browser.get(page.replace("127.0.0.1", "evil.test"))
        until_text(browser, "not served under that name")
        browser.get(page)
        until_text(browser, "There are no runs yet")


BROWSER = """#!/bin/sh
printf '%s\\n' "$@" > {place}/arguments
file=${{1#file://}}
cp -p "$file" {place}/copy
stat -c %A "$file" "$(dirname "$file")" > {place}/modes
curl=$(sed 's/.*url=\\([^"]*\\)".*/\\1/; q' "$file" | sed 's/&amp;/\\&/g')
exec {python} -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1])' "$curl"
"""


def test_the_browser_is_started_with_a_private_file_that_is_gone_afterwards(tmp_path, monkeypatch):
    program = tmp_path / "browser"
    program.write_text(BROWSER.format(place=tmp_path, python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(program))
    with running_tfrun("ui") as ui:
        read_until(ui.stderr, "opens in your browser; Ctrl-C ends it")
        address = until_written(tmp_path / "arguments")
        file = Path(address.removeprefix("file://"))
        while file.parent.exists():
            pass
        ui.send_signal(signal.SIGINT)
        out, err = finish(ui)
    assert (ui.returncode, out, err) == (0, "", "")
    assert "token" not in address
    assert (tmp_path / "modes").read_text().split() == ["-rw-------", "drwx------"]
    assert "enter?token=" in (tmp_path / "copy").read_text()


def until_written(path):
    while not (path.exists() and path.read_text()):
        pass
    return path.read_text().strip()


def test_a_second_page_is_not_served_but_linked_to(page, detached):
    place, _, token = page.partition("enter?token=")
    for command in (("ui",), ("open",), ("open", detached[:3])):
        again = tfrun(*command, "--no-browser")
        assert again.returncode == 0
        assert again.stdout.startswith(f"{place}enter?token=") and token not in again.stdout
        assert re.search(r"works in one browser; process \d+ serves it\n", again.stderr)
        assert again.stdout.endswith(f"&run={detached}\n") == (command[0] == "open")
    other = tfrun("ui", "--port", "1", "--no-browser")
    assert other.returncode == 2
    assert re.fullmatch(
        r"tfrun: --port 1: process \d+ already serves the page on \d+\n", other.stderr
    )


def test_what_a_page_needs_is_not_readable_for_others_and_gone_with_it():
    state = Path(os.environ["XDG_STATE_HOME"], "tfmesos")
    with running_tfrun("ui", "--no-browser") as ui:
        ui.stdout.readline()
        (file,) = state.glob("page-*.json")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        ui.send_signal(signal.SIGTERM)
        assert ui.wait(HANG) == 143
    assert list(state.iterdir()) == []


def test_a_page_that_was_killed_is_no_page():
    with running_tfrun("ui", "--no-browser") as first:
        link = first.stdout.readline()
        first.kill()
        first.wait(HANG)
    with running_tfrun("ui", "--no-browser") as second:
        assert second.stdout.readline() != link
        assert "Ctrl-C ends it" in second.stderr.readline()
        second.send_signal(signal.SIGINT)
        assert second.wait(HANG) == 0


def test_a_link_that_nobody_reads_ends_the_page():
    with open("/dev/full", "w") as full, running_tfrun("ui", "--no-browser", stdout=full) as ui:
        assert ui.wait(HANG) == 74
        assert "No space left on device" in ui.stderr.read()
    reading, writing = os.pipe()
    os.close(reading)
    with running_tfrun("ui", "--no-browser", stdout=writing) as ui:
        os.close(writing)
        assert ui.wait(HANG) == 141
        assert ui.stderr.read().count("\n") == 1


def test_a_browser_that_cannot_be_started_leaves_the_link_to_its_user(monkeypatch):
    monkeypatch.setenv("BROWSER", "/bin/false")
    with running_tfrun("ui") as ui:
        read_until(ui.stderr, "no browser has opened the page")
        assert "/enter?token=" in ui.stdout.readline()
        ui.send_signal(signal.SIGINT)
        assert ui.wait(HANG) == 0


STRANGER = """
import sys, urllib.error, urllib.request
for address in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(address).read())
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode(), end="")
    except OSError as error:
        print(error.reason.strerror)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_of_the_machine_gets_nothing(page, detached):
    """Neither by the port nor from the files."""
    place = re.match(r"http://[\d.:]+/[^/]+/", page)[0]
    (file,) = Path(os.environ["XDG_STATE_HOME"], "tfmesos").glob("page-*")
    words = [place, f"{place}events", f"{place}events?run={detached}", file.as_uri()]
    python = ["/usr/bin/python3", "-c", STRANGER, *words]
    done = subprocess.run(python, user="nobody", capture_output=True, text=True, cwd="/")
    *refused, last = done.stdout.splitlines()
    assert len(refused) == 3 and last == "Permission denied", done.stderr
    assert all(names(line, "403 ", "a fresh link", "tfrun ui") for line in refused), refused


def test_what_cannot_be_served_or_opened_is_said_in_a_line(page):
    port = re.search(r":(\d+)/", page)[1]
    env = {"XDG_STATE_HOME": "/proc"}
    for words, code, wanted in (
        (
            ("ui", "--port", port),
            71,
            f"tfrun: --port {port} is not available: Address already in use; ",
        ),
        (("ui", "--port", "x"), 2, "0 to 65535, got 'x'"),
        (("open", "zzzz"), 2, "tfrun: there is no run 'zzzz'\n"),
    ):
        elsewhere = {"XDG_STATE_HOME": os.environ["XDG_STATE_HOME"] + "/other"}
        done = tfrun(*words, "--no-browser", env=elsewhere)
        assert (done.returncode, done.stdout) == (code, "") and wanted in done.stderr
    done = tfrun("ui", "--no-browser", env=env)
    assert done.returncode == 74 and done.stderr.startswith("tfrun: no page can be served: /proc/")
