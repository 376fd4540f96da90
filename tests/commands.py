"""Run the installed tfrun as its users do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.bounds import HANG

# Not importorskip(): with TensorFlow in this process, looking for garbage after each test would
# take longer than most tests.
needs_tensorflow = pytest.mark.skipif(
    find_spec("tensorflow") is None,
    reason="TensorFlow is not installed: pip install tensorflow",
)
needs_tensorboard = pytest.mark.skipif(
    not Path(sys.executable).with_name("tensorboard").exists(),
    reason="TensorBoard is not installed: pip install tensorboard",
)


ROOT = Path(__file__).parent.parent
EMBEDDED_MESOS = (sys.executable, "-m", "tests.mesos.embedded")  # runs alone, in ROOT


def environment(**more):
    clean = {k: v for k, v in os.environ.items() if k not in ("MESOS_MASTER", "DOCKER_IMAGE")}
    return {**clean, **more}


def tfrun(*args, env=None, cwd=None, timeout=HANG):
    """Run tfrun to its end."""
    return subprocess.run(
        [sys.executable, "-m", "tfmesos", *map(str, args)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=environment(**(env or {})),
        cwd=cwd,
        timeout=timeout,
    )


@contextmanager
def running_tfrun(*args, **options):
    """A tfrun that runs while the block does; the block ends it or it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tfmesos", *map(str, args)],
        **{
            "env": environment(),
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
            "bufsize": 1,
            **options,
        },
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


@contextmanager
def standing_mesos(*flags):
    """The URL of an embedded Mesos that runs alone."""
    master = subprocess.Popen(
        [*EMBEDDED_MESOS, "--port", "0", *flags],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
    )
    try:
        yield re.search(r"http://\S+", master.stdout.readline())[0]
    finally:
        master.terminate()
        assert master.wait() == 143
        master.stdout.close()


def finish(process, timeout=HANG):
    """Wait for its end; return the rest of its output.

    Not communicate(): that forgets what readline() has read ahead.
    """
    with ThreadPoolExecutor(2) as pool:
        out, err = (pool.submit(s.read) for s in (process.stdout, process.stderr))
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return out.result(), err.result()


def read_until(stream, *wanted):
    """Read lines until each of *wanted* has been seen in one; return what was read."""
    lines, missing = [], list(wanted)
    while missing:
        line = stream.readline()
        assert line, f"the output ended before {missing} came: {lines}"
        lines.append(line.rstrip("\n"))
        missing = [text for text in missing if text not in line]
    return lines


def read_until_all_are_of(number, run):
    """Until so many tasks of any generation have said "of NUMBER".

    On a busy machine the first generation that could be of that size may be smaller.
    """
    there = set()
    while len(there) < number:
        line = run.stdout.readline()
        assert line, "the output ended before"
        there |= {line} if line.endswith(f" of {number}\n") else set()


def wait_for_output(run_id, *wanted):
    """Until each of *wanted* is in a line of a run in the background. Its tasks have started before
    they have got as far as a user would see them: one that is stopped by then sets no trap.
    """
    with running_tfrun("logs", run_id, "-f") as following:
        read_until(following.stdout, *wanted)


OF_TIME = re.compile(r"tfrun: (waiting|packing|sent|done in|\d+ of \d+ tasks? placed;) ")


def without_waits(text):
    """What tfrun said besides how long things take, which it says on a busy machine only."""
    return "".join(line for line in text.splitlines(True) if not OF_TIME.match(line))


def lines(text):
    return sorted(text.splitlines())
