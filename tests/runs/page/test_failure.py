"""What the page makes of the report of a failed run."""

import pytest

from tfmesos.config.job import Job, Task
from tfmesos.core.outcome import Ending, Outcome
from tfmesos.launcher.screen.failure_report import failure_report
from tfmesos.runs.page.failure import exception_in, report_parts

MISSING = "ModuleNotFoundError: No module named 'tensorflow'"
TRACEBACK = (
    "step 1",
    "Traceback (most recent call last):",
    '  File "train.py", line 3, in <module>',
    "    import tensorflow",
    MISSING,
)


def ending(index, code=1, tail=(), sandbox=""):
    task = Task(Job("worker", 2), index)
    return Ending(task, "node-a", code, f"exited with {code}", tail, 0.0, "id", sandbox=sandbox)


def test_a_report_is_taken_apart_with_what_explains_it_by_itself():
    cause = ending(0, tail=TRACEBACK, sandbox="/var/sandbox")
    outcome = Outcome.of_failure(cause).replace(others=(ending(1, 7),), unstopped=("ps:0",))
    lines = failure_report(outcome)
    parts = report_parts(lines)
    assert parts["headline"] == lines[0] and "worker:0 exited with 1" in lines[0]
    assert parts["exception"] == MISSING
    assert "has no TensorFlow" in parts["hint"]
    assert parts["output"] == list(TRACEBACK)
    sandbox, others, unstopped = parts["notes"]
    assert "/var/sandbox" in sandbox and "worker:1" in others and "ps:0" in unstopped


def test_a_report_without_output_has_only_its_headline():
    parts = report_parts(["no master answers"])
    assert parts == {
        "headline": "no master answers",
        "exception": "",
        "hint": "",
        "notes": [],
        "output": [],
    }
    assert report_parts([])["headline"] == ""


@pytest.mark.parametrize(
    "output, exception",
    [
        (TRACEBACK, MISSING),
        ((*TRACEBACK, "W0000 shutting down"), MISSING),
        (('  File "a.py", line 1', "    q.get()", "_queue.Empty"), "_queue.Empty"),
        (("ValueError: first", "  File 'b'", "RuntimeError: second"), "RuntimeError: second"),
        (("out of a thread", "KeyError: 3", "  at the end"), "KeyError: 3"),
        (("an Error: is no name", "exit status 3", "done: all"), ""),
        ((), ""),
    ],
)
def test_the_last_exception_is_found_among_the_last_lines(output, exception):
    assert exception_in(output) == exception
