"""Tasks that die and come back, on a real embedded Mesos with real processes."""

import asyncio
import contextlib
import sys
from pathlib import Path

import psutil
import pytest

from tests.commands import (
    environment,
    finish,
    needs_tensorflow,
    read_until,
    running_tfrun,
    tfrun,
)
from tests.mesos.embedded.cluster import AgentConfig, LocalMesos

EXAMPLES = Path(__file__).parents[2] / "examples"
DIES_ONCE = """
import os, signal, sys
memory, index, hosts = sys.argv[1:]
mark = os.path.join(memory, "began-" + index)
first = not os.path.exists(mark)
open(mark, "a").write(hosts + "\\n")
print("began at", hosts, flush=True)
if index == "1" and first:
    began_0 = os.path.join(memory, "began-0")
    while not (os.path.exists(began_0) and os.path.getsize(began_0)):  # written, not only opened
        pass
    os.kill(os.getpid(), signal.SIGKILL)
while not os.path.exists(os.path.join(memory, "began-1")):
    pass
while open(os.path.join(memory, "began-1")).read().count("\\n") < 2:
    pass
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "dies_once.py").write_text(DIES_ONCE)
    (tmp_path / "memory").mkdir()
    return [sys.executable, tmp_path / "dies_once.py", tmp_path / "memory"]


def began(program, index):
    return (program[-1] / f"began-{index}").read_text().split()


def test_a_killed_worker_comes_back_alone_at_its_old_address(program):
    done = tfrun(
        *("-w", 2, "--restart-policy", "task", "--"), *program, "{task_index}", "{worker_hosts}"
    )
    assert done.returncode == 0, done.stderr
    assert "in 1 s (restart 1 of 3)" in done.stderr and "SIGKILL" in done.stderr
    assert "worker:1 is back on" in done.stderr
    assert "expect it at" not in done.stderr
    first, second = began(program, 1)
    assert first == second and began(program, 0) == [first]


def test_after_a_worker_was_killed_all_begin_again_with_fresh_addresses(program):
    done = tfrun(
        *("-w", 2, "--restart-policy", "all", "--"), *program, "{task_index}", "{worker_hosts}"
    )
    assert done.returncode == 0, done.stderr
    assert "all tasks in 1 s (restart 1 of 3)" in done.stderr
    assert began(program, 0) == began(program, 1) and len(set(began(program, 1))) == 2


def test_when_the_restarts_are_used_up_the_run_fails_with_the_last_code():
    done = tfrun(
        *("-w", 1, "--restart-policy", "task", "--restarts", 1, "--retry-codes", "7"),
        *("--", "sh", "-c", "echo tried; exit 7"),
    )
    assert done.returncode == 7
    assert done.stdout.count("tried") == 2
    assert "restarted before it: worker:0 (exited with 7)" in done.stderr


def test_a_task_goes_on_elsewhere_when_its_machine_dies(tmp_path):
    command = f"[ -e {tmp_path}/seen ] || {{ touch {tmp_path}/seen; echo first; sleep 1000; }}"
    asyncio.run(_lose_the_machine_of(command))


async def _lose_the_machine_of(command):
    nodes = [AgentConfig(name, "cpus:1;mem:2048") for name in ("node-a", "node-b")]
    async with LocalMesos(nodes) as mesos:
        run = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tfmesos", "-v", "-m", mesos.url, "-w", "1"),
            *("--restart-policy", "task", "--", command),
            env=environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert await run.stdout.readline() == b"[worker:0] first\n"
        before = (await run.stderr.readuntil(b"launching worker:0 on node-")).decode()
        lost = "node-" + (await run.stderr.readline()).decode().strip()
        other = {"node-a": "node-b", "node-b": "node-a"}[lost]
        mesos.kill_agent(lost)
        after = (await run.stderr.read()).decode()
        assert await run.wait() == 0, before + after
    assert f"worker:0 on {lost} " in after and "restarting it in 1 s" in after
    assert f"worker:0 is back on {other}" in after


def processes_of(run, task):
    """Those of a task, without its runner."""
    found = []
    for process in psutil.Process(run.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.environ().get("TFMESOS_TASK_ID", "").endswith(task):
                found.append(process)
    return found


def kill_worker_one(run):
    """End the process of worker:1 as the kernel does when memory runs out."""
    for process in processes_of(run, "-worker-1-1"):
        process.kill()


@contextlib.contextmanager
def training(tmp_path, *options_and_program):
    """A run of an example that has taken its first steps."""
    scratch = ("--env", f"TMPDIR={tmp_path}")  # where TensorFlow leaves files when it is killed
    with running_tfrun(*scratch, *options_and_program) as run:
        read_until(run.stdout, "step ")
        yield run


def assert_survived(run, err, out, restart):
    assert run.returncode == 0, err
    assert f"was killed by SIGKILL (signal 9); {restart} (restart 1 of 3)" in err
    assert "test accuracy: 0.9" in out


@needs_tensorflow
def test_a_training_survives_the_death_of_a_worker_that_comes_back(tmp_path):
    options = ("--restart-policy", "task", "--chief", "-w", 2, "-s", 1, "--serve", "ps,worker")
    program = (sys.executable, EXAMPLES / "parameter_server.py", "--steps", 5000)
    with training(tmp_path, *options, "--", *program) as run:
        # TensorFlow hangs if a training ends before it has found the worker again. So this one
        # is held until the worker is there, and has many steps to take after that.
        (chief,) = processes_of(run, "-chief-0-1")
        chief.suspend()
        kill_worker_one(run)
        said = read_until(run.stderr, "worker:1 is back on")
        chief.resume()
        out, err = finish(run)
    assert_survived(run, "\n".join(said) + err, out, "restarting it in 1 s")


@needs_tensorflow
def test_a_training_survives_the_death_of_a_worker_after_which_all_begin_again(tmp_path):
    program = (sys.executable, EXAMPLES / "multi_worker.py", "--steps", 300)
    with training(tmp_path, "--restart-policy", "all", "-w", 2, "--", *program) as run:
        kill_worker_one(run)
        out, err = finish(run)
    assert_survived(run, err, out, "restarting all tasks in 1 s")
