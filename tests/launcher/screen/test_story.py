"""A history in, the lines of -v out."""

from tests.bounds import HANG
from tests.builders import servers, workers
from tests.core.run import Run
from tfmesos.config.launch_config import LaunchConfig
from tfmesos.core import events as happened
from tfmesos.engines.local import events as local
from tfmesos.engines.local.engine import LocalStory
from tfmesos.launcher.screen.story import Story


class Told(Run):
    """A run whose story is written down."""

    def __init__(self, *jobs, **options):
        super().__init__(*jobs, **options)
        self.story, self.lines = Story(len(self.tasks), LocalStory()), []

    def __call__(self, event):
        todo = super().__call__(event)
        self.lines += self.story.tell(event, todo)
        return todo


def test_a_run_is_told_from_its_places_to_its_end():
    run = Told(workers(1, gpus=1), servers(1, cmd="serve"))
    run.place()
    run(local.GpusTaken(("gpu-7",)))
    run.register()
    run.ready()
    run.wait(HANG)
    run.exit("worker:0")
    run.exit("ps:0", 143, "was killed by SIGTERM (signal 15)")
    assert run.lines == [
        "this run has gpu-7",
        "worker:0 is at 10.0.0.1:4000 (1 of 2)",
        "ps:0 is at 10.0.0.1:4001 (2 of 2)",
        "starting 2 tasks: each has the addresses of the others",
        "all tasks are running",
        "worker:0 exited with 0 (1 of 2)",
        "stopping ps:0",
        "ps:0 was killed by SIGTERM (signal 15) (2 of 2)",
        "the tasks have ended: leaving this machine",
    ]


def test_an_end_is_told_once_whoever_reports_it():
    run = Told(workers(2)).up()
    run.exit("worker:0")
    run.gone("worker:0", 0)
    run.gone("worker:1", reason="vanished")
    told = [line for line in run.lines if " of 2)" in line][2:]
    assert told == ["worker:0 exited with 0 (1 of 2)", "worker:1 vanished (2 of 2)"]


def test_the_ends_of_the_last_generation_are_not_counted_in_the_next_one():
    run = Told(workers(2)).up()
    run.exit("worker:0")
    run.exit("worker:1")
    run.story.change(LaunchConfig(jobs=(workers(1),)))
    del run.lines[:]
    run.gone("worker:0", 0)
    run.gone("worker:1", 0)
    assert run.lines == []


def test_of_many_tasks_every_tenth_part_is_told_and_every_failure():
    run = Told(workers(60)).up()
    assert len([line for line in run.lines if " is at " in line]) == 10
    run.exit("worker:7", 3)
    assert "worker:7 exited with 3 (1 of 60)" in run.lines


def test_an_interrupt_and_a_lost_runner_are_told():
    run = Told(workers(1)).up()
    run(happened.RunnerLost(run.id("worker:0"), "closed"))
    run(happened.StopRequested("interrupted", 130))
    assert "lost touch with worker:0: closed" in run.lines
    assert "asked to end: interrupted" in run.lines


def test_a_task_with_a_directory_of_its_own_says_where_that_is():
    registered = happened.TaskRegistered("id", "10.0.0.1:1", 1, "/tmp/own")
    (line,) = Story(1, LocalStory()).tell(registered, [])
    assert "10.0.0.1:1" in line and "/tmp/own" in line
