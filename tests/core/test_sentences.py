"""The sentences of a run about its tasks, word for word."""

from tests.builders import workers
from tests.sentences import assert_sentences
from tfmesos.config.job import Job
from tfmesos.config.tensorboard import with_board
from tfmesos.core import events as happened
from tfmesos.core.hangs import NOTICE

from .restart_policies import ALL, said
from .run import Run

TASK = ALL.replace(after_start="task")


def silent(run, *names, seconds=60.0):
    for name in names:
        run(happened.TaskFellSilent(run.id(name), seconds))
    return run


def out_of_reach(run):
    return said(run(happened.TaskUnreachable(run.id("worker:0"))))


def out_of_touch(run):
    run(happened.RunnerOutOfTouch(run.id("worker:0")))
    return run


def ended(run, *names):
    """The error of the run when these have ended, too."""
    for name in names:
        run.exit(name, 143)
    return [str(run.outcome.error)]


def of_waits():
    run = Run(workers(2), start_timeout=5.0)
    yield "nothing is known yet", [run.state.summary()]
    run.place()
    yield "tasks are to report", [run.state.summary()]
    run.wait(5)
    yield "tasks have not reported in time", ended(run, "worker:0", "worker:1")
    run = Run(workers(2), start_timeout=5.0)
    run(happened.EngineReady())
    run.wait(5)
    yield "no place was found in time", ended(run)
    run = Run(workers(2), restarts=TASK).up()
    run.exit("worker:0", 137)
    yield "a task pauses", [run.state.summary()]
    run = Run(workers("1:3", gpus=1))
    run.place()
    left = happened.TasksLeftOut((run.id("worker:2"),), "no more GPUs")
    yield "an optional task is left out", said(run(left))
    run = Run(workers(1))
    yield "there is no place at all", [*said(run(happened.Impossible("too big"))), *ended(run)]


def of_restarts():
    for policy in (TASK, ALL):
        run = Run(workers(2), restarts=policy).up()
        yield f"restart of {policy.after_start}", said(run.exit("worker:0", 137))
    run = Run(workers(1))
    run.place()
    yield "restart before the start", said(run.gone("worker:0"))
    for elsewhere in (False, True):
        run = Run(workers(2)).up()
        run(happened.RestartRequested(run.id("worker:0"), elsewhere))
        where = "elsewhere" if elsewhere else "there"
        yield f"restart {where} as wanted", said(run.exit("worker:0"))
    run = Run(workers(2), restarts=TASK).up()
    run.exit("worker:0", 137)
    run.wait(1)
    back = happened.TaskRegistered(run.id("worker:0"), "10.0.0.2:5", 5)
    yield "back at another address", said(run(back))
    run = Run(workers(1), restarts=TASK).up()
    run(happened.UpdateRequested((workers(2),), ("worker: 1 -> 2",)))
    yield "update", said(run.log)


def of_doubts():
    run = Run(workers(2)).up()
    yield "out of reach, but the runner answers", out_of_reach(run)
    yield "out of reach and of touch", out_of_reach(out_of_touch(Run(workers(2)).up()))
    run = Run(workers(2))
    run.place()
    yield "out of reach before it registered", out_of_reach(run)
    run = out_of_touch(Run(workers(2)).up())
    yield "a failure beside one out of touch", said(run.exit("worker:1", 3))
    run = Run(workers(1)).up()
    run(happened.RunnerLost(run.id("worker:0"), "silent for 20 s"))
    run.wait(60)
    yield "a runner is lost", ended(run)
    run = Run(workers(1)).up()
    ours = (run.id("worker:0"),)
    yield "NodeLost", said(run(happened.NodeLost(ours)))
    yield "NodeWanted", said(run(happened.NodeWanted(ours, 600.0)))
    run = Run(workers(1)).up()
    held = happened.TaskHeld(run.id("worker:0"), "exited with 7")
    yield "a task is held", said(run(held))


def of_silence():
    for number in (1, 2):
        run = Run(workers(3)).up()
        silent(run, *[f"worker:{i}" for i in range(number)])
        yield f"{number} silent", said(run.wait(NOTICE))
    run = silent(Run(workers(2), hang_timeout=100.0).up(), "worker:0", "worker:1")
    yield "all hang", [*said(run.wait(40)), *ended(run, "worker:0", "worker:1")]
    run = silent(Run(workers(2), hang_timeout=100.0, hang_of_any=True).up(), "worker:0")
    yield "one hangs", [*said(run.wait(40)), *ended(run, "worker:0", "worker:1")]
    run = Run(workers(2)).up()
    run.exit("worker:0")
    silent(run, "worker:1", seconds=30.0)
    yield "silent after others have finished", said(run.wait(30))


def of_ends():
    run = Run(workers(1), run_timeout=60.0).up()
    run.wait(60)
    yield "time limit", ended(run, "worker:0")
    run = Run(workers(1), Job("evaluator", 1, cmd="x"), evaluator_grace=5.0).up()
    run.now = 60.0
    yield "an evaluator is awaited", said(run.exit("worker:0"))
    yield "an evaluator is stopped", said(run.wait(5))
    run = Run(*with_board((workers(1),), "/logs"), tensorboard_stays=True).up()
    run.now = 60.0
    yield "TensorBoard stays", said(run.exit("worker:0"))
    run = Run(*with_board((workers(1),), "/logs")).up()
    yield "TensorBoard is not installed", said(run.exit("tensorboard:0", 127))


def test_they_are_as_written_down():
    parts = (of_waits, of_restarts, of_doubts, of_silence, of_ends)
    assert_sentences("core-sentences", {part.__name__: dict(part()) for part in parts})
