"""Runs as text, and for programs."""

import re
from pathlib import Path

from tfmesos.runs.listing import as_json, as_row_json, task_tree
from tfmesos.runs.run_files import RunDirectory
from tfmesos.runs.status import RunStatus, TaskStatus

DOCS = Path(__file__).parents[2] / "docs"


def test_tasks_of_which_there_is_nothing_else_to_tell_share_a_line():
    names = [("ps", 1), ("worker", 100)]
    tasks = {
        f"{job}:{n}": TaskStatus(f"{job}:{n}", job) for job, size in names for n in range(size)
    }
    tasks["worker:98"] = TaskStatus("worker:98", "worker", state="running", node="a", began=1.0)
    assert task_tree(RunStatus(tasks=tasks), 4.0, {}) == [
        "  ps: 1 waiting",
        "  └─ ps:0                  waiting",
        "  worker: 1 running, 99 waiting",
        "  ├─ worker:0 - worker:97  waiting",
        "  ├─ worker:98             running  a    0:00:03",
        "  └─ worker:99             waiting",
    ]


def test_the_fields_for_programs_are_those_of_the_page(tmp_path):
    """Programs rely on their names: see the section on JSON in docs/runs.rst."""
    run = RunDirectory(tmp_path / "k7xq")
    page = (DOCS / "runs.rst").read_text().partition("JSON for programs")[2]
    told = set(re.findall("``([a-z_]+)``", page.partition("A run in the foreground")[0]))
    fields = {*as_row_json(run, 0.0), *as_json(run, 0.0), *TaskStatus.__slots__, "usage"}
    assert fields <= told
