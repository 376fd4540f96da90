"""How ``tfrun update`` and ``tfrun checkpoint`` wait for the next generation."""

from tests.builders import workers
from tests.core.restart_policies import ALL, KILLED
from tests.runs.test_generations import Updated
from tests.runs.test_recorder import directory as directory
from tests.runs.test_recorder import recorder as recorder
from tfmesos.cli.commands.update import wait_for_generation
from tfmesos.core import events as happened
from tfmesos.core.outcome import Outcome
from tfmesos.errors import Interrupted


def test_a_generation_that_another_one_has_replaced_is_waited_for_no_longer(
    recorder, directory, capfd
):
    run = Updated(recorder, workers(1), restarts=ALL).up()
    run.change(2)
    run.exit("worker:1", KILLED)
    run.stopped()
    recorder.end(Outcome(), [])
    assert wait_for_generation(directory, 1) == 0
    said = capfd.readouterr().err
    assert "generation 2 has replaced generation 1" in said and "worker:1" in said


def test_a_run_that_ends_before_the_tasks_of_a_generation_run_says_so(recorder, directory, capfd):
    run = Updated(recorder, workers(1)).up()
    run(happened.UpdateRequested((workers(2),), ("to 2",)))
    run(happened.TaskExited(run.id("worker:0"), 143, "stopped", was_stopped=True))
    run(happened.StopRequested("stopped by its owner", 130))
    recorder.end(Outcome(error=Interrupted("stopped by its owner", 130)), [])
    assert wait_for_generation(directory, 1) == 130
    assert "ended before all tasks of generation 1 were running" in capfd.readouterr().err
