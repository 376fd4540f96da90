"""Bare TensorFlow servers: jobs without a command."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.bounds import HANG
from tests.commands import ROOT, environment, needs_tensorflow, tfrun
from tests.processes import commands_below
from tfmesos import Job, TaskFailed, TFMesosScheduler, cluster

pytestmark = needs_tensorflow

# A TensorFlow that takes no time, to see what happens around it.
FAKES = {
    "broken": "raise ImportError('libcudart.so.1 is missing')",
    "old": "__version__ = '1.0'",
    "unable": (
        "class distribute:\n"
        "    class Server:\n"
        "        def __init__(self, *args, **more): raise OSError('Address already in use')\n"
        "class compat:\n"
        "    class v1:\n"
        "        ConfigProto = dict\n"
    ),
    "dying": (
        "import os, threading, time\n"
        "def die():\n"
        "    while not os.path.exists(os.path.join(os.path.dirname(__file__), 'die')):\n"
        "        time.sleep(0.01)\n"
        "    os._exit(3)\n"
        "class distribute:\n"
        "    class Server:\n"
        "        def __init__(self, *args, **more): threading.Thread(target=die).start()\n"
        "class compat:\n"
        "    class v1:\n"
        "        ConfigProto = dict\n"
    ),
    "crashing": "import os, sys; print('core dumped', file=sys.stderr, flush=True); os.abort()",
}


@pytest.fixture(autouse=True)
def no_master_in_the_environment(monkeypatch):
    monkeypatch.delenv("MESOS_MASTER", raising=False)
    monkeypatch.delenv("DOCKER_IMAGE", raising=False)


@pytest.mark.parametrize(
    "kind, words",
    [
        ("broken", "TensorFlow cannot be imported by .* (libcudart.so.1 is missing) on "),
        (
            "old",
            "TensorFlow 1.0 of .* is too old: it has no tf.distribute.Server on .*; install 2.x",
        ),
        ("unable", r"no TensorFlow server at 127.0.0.1:\d+ over grpc: Address already in use"),
        ("crashing", "was killed by SIGABRT"),
    ],
)
def test_a_server_that_cannot_start_says_why_and_fails_the_run(tmp_path, kind, words):
    (tmp_path / "tensorflow.py").write_text(FAKES[kind])
    pattern = words.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(TaskFailed, match=pattern):
        with cluster(Job("ps", 2), env={"PYTHONPATH": str(tmp_path)}, quiet=True):
            pytest.fail("it must not start")


@pytest.fixture
def dying(tmp_path):
    """Settings of two servers that end once there is a file ``die`` in the test's directory."""
    (tmp_path / "tensorflow.py").write_text(FAKES["dying"])
    return {"task_spec": Job("ps", 2), "env": {"PYTHONPATH": str(tmp_path)}, "quiet": True}


def test_every_thread_learns_at_once_that_a_server_has_died(dying, tmp_path):
    scheduler = TFMesosScheduler(**dying)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(scheduler.start).result(HANG)
        (tmp_path / "die").touch()
        assert pool.submit(scheduler.wait, HANG, check=False).result().exit_code == 3
        with pytest.raises(TaskFailed, match="exited with 3"):
            scheduler.finished()
    scheduler.stop()


def test_the_caller_of_dead_servers_is_interrupted_outside_of_a_session(dying, tmp_path):
    with pytest.raises(TaskFailed, match="exited with 3"):
        with cluster(dying.pop("task_spec"), **dying):
            (tmp_path / "die").touch()
            time.sleep(HANG)
            pytest.fail("nobody has interrupted it")


def test_a_session_computes_on_every_task_of_the_cluster():
    code = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
from tfmesos import Job, cluster
with cluster([Job("ps", 1, cpus=0.5), Job("worker", 2, cpus=2)]) as c, tf.Graph().as_default():
    parts = []
    for task in sorted(c.targets):
        with tf.device(task):
            parts.append(tf.constant(14))
    with tf.compat.v1.Session(c.targets["/job:worker/task:1"]) as session:
        print(session.run(tf.add_n(parts)))
        print(sum(d.name.endswith("CPU:1") for d in session.list_devices()), "second CPUs")
    print(sorted(c.cluster_spec.as_dict()) == ["ps", "worker"], c.resolver().rpc_layer)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["42", "2 second CPUs", "True grpc"]


def test_a_server_need_not_be_the_first_of_its_job():
    with cluster([Job("worker", 3, start=2)], quiet=True) as c:
        assert list(c.targets) == ["/job:worker/task:2"]
        assert c.cluster_spec.task_indices("worker") == [2]


def test_a_job_that_is_served_runs_no_command():
    script = 'test "{job_name}" = worker && echo only workers'
    done = tfrun("-w", 1, "-s", 1, "--serve", "ps", "--", "sh", "-c", script)
    assert (done.returncode, done.stdout) == (0, "[worker:0] only workers\n")


def test_a_server_that_dies_is_reported_in_the_block():
    with pytest.raises(TaskFailed, match="ps:0 was killed by SIGKILL"):
        with cluster(Job("ps", 1), quiet=True) as c:
            below = commands_below(os.getpid())
            (server,) = [it for it, words in below if "channel.recv" in " ".join(words)]
            server.kill()
            c._ended.result(HANG)


# A client of two servers that loses one of them in the middle of a call; once for each argument.
CLIENT = """
import os, sys, threading, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
import tfmesos.scheduler
from tests.processes import commands_below
from tfmesos import Job, TaskFailed, cluster

Session = tf.compat.v1.Session

def kill(c, victim, wreck):
    task = f"{c._run.id}-{victim}-0-1"
    for process, words in commands_below(os.getpid()):
        if "channel.recv" in " ".join(words):
            if process.environ()["TFMESOS_TASK_ID"] == task:
                {"server": process, "runner": process.parent()}[wreck].kill()

with tf.Graph().as_default() as elsewhere:
    sleep = tf.numpy_function(lambda: time.sleep(6), [], [])

def lose(victim, occupation, wreck):
    if occupation == "locally" or wreck == "runner":
        tfmesos.launcher.caller.release.STUCK_AFTER = 2
    with cluster([Job("ps", 1), Job("worker", 1)], quiet=True) as c, tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            total = tf.compat.v1.get_variable("total", initializer=0)
        with tf.device("/job:worker/task:0"):
            compute = tf.compat.v1.assign_add(total, 1)
            wait = tf.queue.FIFOQueue(1, tf.int32).dequeue()
        with Session(c.targets["/job:worker/task:0"]) as session:
            session.run(tf.compat.v1.global_variables_initializer())
            session.run(compute)
            threading.Timer(0.5, kill, [c, victim, wreck]).start()
            if occupation == "locally":
                with Session(graph=elsewhere) as short:
                    short.run(sleep)
            while True:
                session.run({"compute": compute, "wait": wait}[occupation])

for how in sys.argv[1:]:
    try:
        lose(*how.split())
    except TaskFailed as error:
        print(error.task, error.exit_code, type(error.__cause__).__name__)
"""


def lose(*how):
    return subprocess.run(
        [sys.executable, "-c", CLIENT, *how],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=environment(),
    )


def test_the_loss_of_a_server_ends_a_session_with_the_error_of_tensorflow():
    done = lose("ps wait server", "worker wait server")
    lines = ["ps:0 137 AbortedError", "worker:0 137 AbortedError"]
    assert (done.stdout.splitlines(), done.returncode) == (lines, 0), done.stderr
    assert "Traceback" not in done.stderr


def test_the_loss_of_a_server_ends_a_loop_of_steps():
    done = lose("ps compute server", "worker compute server")  # in a step or between two of them
    ended = [line.split()[:2] for line in done.stdout.splitlines()]
    assert (ended, done.returncode) == ([["ps:0", "137"], ["worker:0", "137"]], 0), done.stderr
    assert "Traceback" not in done.stderr


def test_a_session_that_nobody_answers_ends_with_the_program():
    done = lose("worker wait runner")
    assert (done.stdout, done.returncode) == ("", 137), done.stderr
    assert "worker:0 was killed by SIGKILL (signal 9)" in done.stderr
    line = 1 + CLIENT[: CLIENT.index("session.run({")].count("\n")
    assert f"the session at <string>:{line} would wait for it" in done.stderr


def test_a_session_of_another_server_may_take_its_time():
    done = lose("worker locally server")
    assert (done.stdout, done.returncode) == ("worker:0 137 NoneType\n", 0), done.stderr


# A coordinator that trains, and may lose a worker, alone or with its runner, while it does.
COORDINATOR = """
import os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "1"
import tensorflow as tf
from tests.processes import commands_below
from tfmesos import Job, TaskFailed, cluster

def kill(c):
    task = f"{c._run.id}-worker-0-1"
    for process, words in commands_below(os.getpid()):
        if "channel.recv" in " ".join(words):
            if process.environ()["TFMESOS_TASK_ID"] == task:
                {"server": process, "runner": process.parent()}[sys.argv[1]].kill()

try:
    with cluster([Job("ps", 1), Job("worker", 2)], quiet=True) as c:
        strategy = tf.distribute.ParameterServerStrategy(c.resolver())
        coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        with strategy.scope():
            total = tf.Variable(0)

        @tf.function
        def step():
            return strategy.run(lambda: total.assign_add(1))

        for _ in range(20):
            coordinator.schedule(step)
        coordinator.join()
        print(total.numpy(), flush=True)
        if sys.argv[1:]:
            kill(c)
            while True:
                coordinator.schedule(step)
                coordinator.join()
except TaskFailed as error:
    print(error.task, error.exit_code)
print((tf.constant(40) + 2).numpy(), flush=True)
"""


def coordinate(*wreck):
    return subprocess.run(
        [sys.executable, "-c", COORDINATOR, *wreck],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=environment(),
    )


def test_tensorflow_gives_a_cluster_up_before_its_servers_go():
    done = coordinate()
    assert (done.stdout, done.returncode) == ("20\n42\n", 0), done.stderr
    assert "Failed to remove function" not in done.stderr
    assert "remote target" not in done.stderr


@pytest.mark.parametrize("wreck", ["server", "runner"])
def test_a_coordinator_that_has_lost_a_worker_ends(wreck):
    done = coordinate(wreck)
    assert (done.stdout, done.returncode) == ("20\nworker:0 137\n42\n", 0), done.stderr
