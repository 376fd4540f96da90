"""Runs as text."""

from tfmesos.runs.listing import task_tree
from tfmesos.runs.status import RunStatus, TaskStatus


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
