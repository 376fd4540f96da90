"""The list of all runs in a real browser, at the widths of a desk and of a phone."""

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from tests.browser import until, until_text
from tests.runs.page.site import add_run
from tfmesos.runs.launcher_process import this_process

WIDTH = "return document.documentElement.scrollWidth <= innerWidth"


def ids(screen):
    return [one.text for one in screen.find_elements(By.CSS_SELECTOR, ".runs tbody th")]


def test_runs_are_filtered_by_their_state_and_by_a_text(screen, store, owner_link):
    add_run(store, "gone", exit_code=3, command=("tfrun", "--", "python", "Train.py"))
    add_run(store, "good", exit_code=0, command=("tfrun", "--", "python", "train.py"))
    add_run(store, "eval", exit_code=0, jobs={"evaluator": 1}, command=("tfrun", "--", "score"))
    add_run(store, "live", launcher=this_process(), command=("tfrun", "--", "python", "train.py"))
    screen.get(owner_link())
    until(screen, lambda: len(ids(screen)) == 4)
    assert screen.execute_script(WIDTH)
    phase = Select(screen.find_element(By.ID, "phase"))
    phase.select_by_value("succeeded")
    assert sorted(ids(screen)) == ["eval", "good"]
    find = screen.find_element(By.ID, "find")
    find.send_keys("TRAIN")
    assert ids(screen) == ["good"]
    screen.find_element(By.LINK_TEXT, "good").click()
    until_text(screen, "How it was started")
    screen.back()
    until(screen, lambda: ids(screen) == ["good"])  # as it was left
    Select(screen.find_element(By.ID, "phase")).select_by_value("")
    assert sorted(ids(screen)) == ["gone", "good", "live"]
    screen.find_element(By.ID, "find").send_keys(" nobody has this")
    until_text(screen, "No run matches")
    screen.find_element(By.LINK_TEXT, "tfrun").click()
    until(screen, lambda: len(ids(screen)) == 4)


def test_a_run_that_is_found_no_longer_leaves_the_filtered_list_by_itself(
    screen, store, owner_link
):
    run = add_run(store, "live", launcher=this_process())
    screen.get(owner_link())
    until(screen, lambda: ids(screen) == ["live"])
    Select(screen.find_element(By.ID, "phase")).select_by_value("starting")
    assert ids(screen) == ["live"]
    run.outcome_file.write_text('{"ended": 1060.0, "exit_code": 0}')
    until_text(screen, "No run matches")
