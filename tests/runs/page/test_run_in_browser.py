"""What the page shows of a run, at the widths of a desk and of a phone."""

import shlex

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from tests.browser import until, until_text
from tests.runs.page.site import add_run, recorded_run
from tfmesos.config.job import Job
from tfmesos.core import events as happened
from tfmesos.launcher.links.usage import Usage
from tfmesos.runs.measurements import line_of

MISSING = "ModuleNotFoundError: No module named 'tensorflow'"
FITS = "return document.documentElement.scrollWidth <= innerWidth"
TABLE_FITS = """
const table = document.querySelector('.tasks');
return table.offsetWidth <= table.parentElement.clientWidth;
"""
COPIED = "navigator.clipboard.readText().then(arguments[0], error => arguments[0](String(error)))"
LONG_LINES = [f"    {number} {'y' * 590}" for number in range(20)]
REPORT = [
    "worker:0 exited with 1 on node-a",
    "  its last lines:",
    *LONG_LINES,
    f"    {MISSING}",
    "  hint: the tasks' Python has no TensorFlow",
    "  ended after it, or because of it: worker:1 (exited with 7)",
]


def texts(screen, css):
    return [one.text for one in screen.find_elements(By.CSS_SELECTOR, css)]


def bottom(screen, css):
    """Where the element ends, in pixels below the top of the window."""
    rect = "return document.querySelector(arguments[0]).getBoundingClientRect().bottom"
    return screen.execute_script(rect, css)


def test_the_exception_and_the_hint_are_seen_without_scrolling_before_long_lines(
    screen, store, owner_link
):
    run = add_run(store, "aaaa", exit_code=1, report=REPORT)
    screen.get(owner_link(run.id))
    until_text(screen, "Why it failed", MISSING, "worker:1 (exited with 7)")
    assert texts(screen, ".report .exception") == [MISSING]
    assert texts(screen, ".report .hint") == ["Hint: the tasks' Python has no TensorFlow"]
    window = screen.execute_script("return innerHeight")
    assert bottom(screen, ".report .exception") < bottom(screen, ".report .hint") < window / 2
    last_lines = screen.find_element(By.CSS_SELECTOR, ".report pre")
    assert last_lines.text.splitlines()[0] == LONG_LINES[0].strip()
    assert last_lines.text.endswith(MISSING)


@pytest.fixture
def live(store):
    """A run of two jobs, of names that are not in the order of the alphabet."""
    run = recorded_run(store, Job("worker", 2, cmd="train"), Job("ps", 1, cmd="train"))
    yield run
    run.recorder.discard()


def test_each_generation_has_a_mark_on_the_time_line_and_a_line_below_it(screen, store, owner_link):
    run = recorded_run(store, Job("worker", 1, cmd="train"))
    run(happened.UpdateRequested((Job("worker", 1, cmd="other"),), ("worker.command: other",)))
    run.exit("worker:0", 143)
    screen.get(owner_link("aaaa"))
    until_text(screen, "Generation 1 at 0:00:0", "update: worker.command: other")
    for css in (".timeline .generation line", ".timeline .generations li"):
        assert len(screen.find_elements(By.CSS_SELECTOR, css)) == 1
    assert screen.execute_script(FITS)
    run.recorder.discard()


def test_resources_come_in_the_order_of_the_tasks(screen, live, owner_link):
    for task in ("ps:0", "worker:1", "worker:0"):
        live.recorder.measured(task, Usage(150.0, 300 << 20))
    screen.get(owner_link("aaaa"))
    until(screen, lambda: len(texts(screen, ".plot h3")) == 3)
    assert texts(screen, ".plot h3") == texts(screen, ".tasks tbody th")
    assert texts(screen, ".plot h3") != sorted(texts(screen, ".plot h3"))


def measure_over_time(run, task, *usages):
    """*usages* are pairs of CPU and memory, ten seconds apart."""
    lines = [line_of(1000.0 + 10 * at, task, Usage(*usage)) for at, usage in enumerate(usages)]
    run.measurements_file.write_bytes(b"".join(lines))


def test_a_plot_has_axes_and_tells_the_value_under_the_pointer(screen, store, owner_link):
    run = add_run(store, "aaaa", exit_code=0)
    measure_over_time(run, "worker:0", (50.0, 1 << 30), (250.0, 3 << 30), (80.0, 2 << 30))
    screen.get(owner_link("aaaa"))
    until(screen, lambda: len(texts(screen, ".measure b")) >= 2 and texts(screen, ".measure b")[0])
    clocks = screen.execute_script(
        "return [1000, 1010, 1020].map(at => new Date(at * 1000)).map(date => date"
        ".toLocaleTimeString(undefined, {hour12: false}))"
    )
    cpu = screen.find_element(By.CSS_SELECTOR, ".measure")
    assert [one.text for one in cpu.find_elements(By.CSS_SELECTOR, ".scale span")] == ["250 %", "0"]
    times = [one.text for one in cpu.find_elements(By.CSS_SELECTOR, ".times span")]
    assert times == [clocks[0], clocks[2]]
    assert shown_of(cpu) == ("80 %", "peak 250 %")
    canvas = cpu.find_element(By.CSS_SELECTOR, ".canvas")
    screen.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    ActionChains(screen).move_to_element(canvas).perform()
    until(screen, lambda: shown_of(cpu) == ("250 %", f"at {clocks[1]}"))
    left = -canvas.size["width"] // 2 + 3
    ActionChains(screen).move_to_element_with_offset(canvas, left, 0).perform()
    until(screen, lambda: shown_of(cpu) == ("50 %", f"at {clocks[0]}"))
    ActionChains(screen).move_to_element(screen.find_element(By.ID, "usage-title")).perform()
    until(screen, lambda: shown_of(cpu) == ("80 %", "peak 250 %"))
    memory = screen.find_elements(By.CSS_SELECTOR, ".measure")[1]
    assert memory.find_element(By.CSS_SELECTOR, ".scale span").text == "3.0 GB"
    assert screen.execute_script(FITS)


def shown_of(measure):
    return tuple(measure.find_element(By.CSS_SELECTOR, tag).text for tag in ("b", "small"))


def test_the_id_and_the_command_line_can_be_copied(screen, store, owner_link):
    rights = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    screen.execute_cdp_cmd("Browser.grantPermissions", rights)
    words = ("tfrun", "-w", "2", "--", "python", "train.py", "two words")
    add_run(store, "aaaa", exit_code=0, command=words)
    screen.get(owner_link("aaaa"))
    until_text(screen, "How it was started")
    for what, text in (("the id", "aaaa"), ("the command line", shlex.join(words))):
        button = screen.find_element(By.CSS_SELECTOR, f"[aria-label='Copy {what}']")
        button.click()
        until(screen, lambda button=button: button.text == "Copied")
        assert screen.execute_async_script(COPIED) == text
    assert screen.execute_script(FITS)


def test_the_tasks_have_their_progress_bars_while_these_move(screen, live, owner_link):
    live.recorder.progressed("worker:1", f"Epoch 2:  45%|####5     | 45/100 {'loss ' * 20}")
    screen.get(owner_link("aaaa"))
    shown = "//tr[th='worker:1']/td[contains(@class, 'progress')]"
    until(screen, lambda: "Epoch 2: 45%" in screen.find_element(By.XPATH, shown).text)
    gauge = screen.find_element(By.XPATH, f"{shown}//progress")
    assert gauge.is_displayed() and float(gauge.get_property("value")) == 0.45
    assert len(screen.find_elements(By.TAG_NAME, "progress")) == 1
    assert screen.execute_script(FITS) and screen.execute_script(TABLE_FITS)
    live.recorder.progressed("worker:1", "50/100")
    until(screen, lambda: float(gauge.get_property("value")) == 0.5)
    live.recorder.progressed("worker:1", "loading")  # how far is not known
    until(screen, lambda: screen.find_element(By.XPATH, shown).text.endswith("loading"))
    assert not gauge.is_displayed()
    live.recorder.progressed("worker:1", "")
    until(screen, lambda: not screen.find_elements(By.TAG_NAME, "progress"))
    assert "Progress" not in screen.find_element(By.CSS_SELECTOR, ".tasks").text
