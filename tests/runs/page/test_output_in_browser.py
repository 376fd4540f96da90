"""The output of a run in a real browser, at the widths of a desk and of a phone."""

from selenium.webdriver.common.by import By

from tests.browser import at_width, until
from tests.runs.page.site import add_run, write_log
from tfmesos.runs.launcher_process import this_process

LONG = "x" * 590  # wraps at every width

LAST = "return document.querySelector('.line:last-child span')?.textContent ?? ''"
FROM_END = """
const { scrollHeight, scrollTop, clientHeight } = document.querySelector('.lines');
return scrollHeight - scrollTop - clientHeight;
"""
SCROLLED = "document.querySelector('.lines').scrollTop -= 900"


def is_at_end(screen, line):
    """Is *line* the last, and does the pane show its end?"""
    return screen.execute_script(LAST) == line and abs(screen.execute_script(FROM_END)) <= 1


def long_lines(first, last):
    return [f"{number:9} {LONG}" for number in range(first, last)]


def test_the_output_opens_at_its_end_and_follows_it_when_lines_wrap(screen, store, owner_link):
    run = add_run(store, "aaaa", launcher=this_process(), jobs={"worker": 1})
    write_log(run, "worker:0", *long_lines(0, 300))
    screen.get(owner_link(run.id))
    until(screen, lambda: is_at_end(screen, long_lines(299, 300)[0]))
    write_log(run, "worker:0", *long_lines(300, 330))
    until(screen, lambda: is_at_end(screen, long_lines(329, 330)[0]))
    at_width(screen, 700)
    until(screen, lambda: is_at_end(screen, long_lines(329, 330)[0]))


def test_who_reads_above_the_end_is_left_there_and_is_brought_to_the_end_exactly(
    screen, store, owner_link
):
    run = add_run(store, "aaaa", launcher=this_process(), jobs={"worker": 1})
    write_log(run, "worker:0", *long_lines(0, 300))
    screen.get(owner_link(run.id))
    until(screen, lambda: is_at_end(screen, long_lines(299, 300)[0]))
    screen.execute_script(SCROLLED)
    down = screen.find_element(By.CSS_SELECTOR, ".down")
    until(screen, down.is_displayed)
    where = screen.execute_script("return document.querySelector('.lines').scrollTop")
    write_log(run, "worker:0", *long_lines(300, 330))
    until(screen, lambda: screen.execute_script(LAST) == long_lines(329, 330)[0])
    assert screen.execute_script("return document.querySelector('.lines').scrollTop") == where
    down.click()
    until(screen, lambda: is_at_end(screen, long_lines(329, 330)[0]))
    until(screen, lambda: not down.is_displayed())
