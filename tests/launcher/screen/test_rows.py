"""What the live display tells of the tasks of a run follows from what is known of them."""

from __future__ import annotations

from tests.builders import servers, workers
from tests.core.run import Run
from tfmesos.engines.local import events as local
from tfmesos.launcher.links.usage import Gpu, Usage
from tfmesos.launcher.screen.progress_bar import ProgressBar
from tfmesos.launcher.screen.rows import Looks, job_rows, state_of, task_rows, view_of

NOTHING = Looks({}, {})
MIB = 1024 * 1024


def looks_of(run, usages=None, progress=None):
    """By the names of tasks."""
    ids = {member.task.name: member.task_id for member in run.state.members}
    by_id = [{ids[name]: value for name, value in (d or {}).items()} for d in (usages, progress)]
    return Looks(*by_id)


def views_of(run, looks):
    return [view_of(member, looks) for member in run.state.members]


def test_a_task_goes_from_waiting_over_starting_to_running_and_its_end():
    run = Run(workers(2, gpus=1))
    states = [[state_of(member) for member in run.state.members]]
    for step in (run.place, lambda: run(local.GpusTaken(("0", "1"))), run.register, run.ready):
        step()
        states.append([state_of(member) for member in run.state.members])
    run.exit("worker:0", 0)
    states.append([state_of(member) for member in run.state.members])
    first = [both[0] for both in states]
    assert first == ["waiting", "waiting", "starting", "starting", "running", "succeeded"]
    assert states[-1][1] == "running"


def test_a_row_has_all_that_is_known_of_a_task():
    run = Run(workers(1))
    run.now = 100.0
    run.up()
    usage = Usage(187.4, 1536 * MIB, (Gpu(90, 1, 2), Gpu(None, 1, 2), Gpu(70, 1, 2)))
    looks = looks_of(run, {"worker:0": usage}, {"worker:0": " 45%|██  | 45/100"})
    (row,) = task_rows(views_of(run, looks), 165.0)
    assert (row.name, row.state, row.time, row.restarts) == ("worker:0", "running", "0:01:05", "")
    assert (row.cpu, row.memory, row.gpu) == ("187 %", "1.5 GB", "80 %")
    assert row.bar == ProgressBar(0.45, "45% 45/100") and row.node


def test_a_task_that_failed_tells_why_and_how_long_it_ran_and_uses_nothing():
    run = Run(workers(2))
    run.now = 100.0
    run.up()
    looks = looks_of(run, {"worker:1": Usage(50.0, MIB)}, {"worker:1": "3/4"})
    run.now = 110.0
    run.exit("worker:1", 3)
    row = task_rows(views_of(run, looks), 500.0)[1]
    assert (row.state, row.time, row.remark) == ("failed", "0:00:10", "exited with 3")
    assert (row.cpu, row.memory, row.bar) == ("", "", None)


def test_a_task_that_waits_again_says_how_often_it_was_started():
    run = Run(workers(1))
    run.place()
    run.gone("worker:0")
    (row,) = task_rows(views_of(run, NOTHING), 0.0)
    assert (row.restarts, row.time) == ("1", "")


def test_a_job_tells_of_all_its_tasks_together():
    run = Run(workers(3), servers(1))
    run.now = 100.0
    run.up()
    usages = {"worker:0": Usage(50.0, MIB), "worker:1": Usage(25.0, MIB), "worker:2": Usage(9.0, 1)}
    looks = looks_of(run, usages, {"worker:1": "3/4 done", "worker:2": "4/4 done"})
    run.exit("worker:2", 0)
    worker, ps = job_rows(views_of(run, looks), 160.0)
    assert (worker.name, worker.state) == ("worker x 3", "2 running, 1 succeeded")
    assert (worker.cpu, worker.memory, worker.gpu) == ("75 %", "2 MB", "")
    assert (worker.time, worker.bar) == ("0:01:00", ProgressBar(0.75, "worker:1 3/4 done"))
    assert (ps.name, ps.state, ps.cpu, ps.bar) == ("ps x 1", "1 running", "", None)


def test_a_job_names_its_first_failure():
    run = Run(workers(2))
    run.up()
    run.exit("worker:1", 3)
    (row,) = job_rows(views_of(run, NOTHING), 10.0)
    assert row.remark == "worker:1 exited with 3"
