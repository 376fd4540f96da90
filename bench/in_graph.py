"""Two ps, two workers and examples/plus.py: tfmesos against the same five processes by hand."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from bench import programs
from bench.timing import Measured, Result

EXAMPLES = Path(__file__).parent.parent / "examples"
PORTS = range(30000, 31000)

SERVER = """
import sys, json
import tensorflow as tf
cluster, job, index = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
tf.distribute.Server(cluster, job_name=job, task_index=index).join()
"""
CLIENT = """
import sys
import tensorflow as tf
with tf.Graph().as_default():
    with tf.device("/job:ps/task:0"):
        a = tf.constant(10)
    with tf.device("/job:ps/task:1"):
        b = tf.constant(32)
    with tf.device("/job:worker/task:1"):
        total = a + b
    with tf.compat.v1.Session(sys.argv[1]) as session:
        print(session.run(total))
"""


def by_tfmesos() -> None:
    _check(subprocess.run([sys.executable, EXAMPLES / "plus.py"], capture_output=True))


def by_hand() -> None:
    """The servers and the client, all started at the same moment."""
    ports = _free_ports(4)
    hosts = [f"127.0.0.1:{port}" for port in ports]
    cluster = f'{{"ps": ["{hosts[0]}", "{hosts[1]}"], "worker": ["{hosts[2]}", "{hosts[3]}"]}}'
    tasks = [("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1)]
    with ExitStack() as stack:
        for job, index in tasks:
            argv = [sys.executable, "-c", SERVER, cluster, job, str(index)]
            server = stack.enter_context(subprocess.Popen(argv, stderr=subprocess.DEVNULL))
            stack.callback(server.kill)
        argv = [sys.executable, "-c", CLIENT, f"grpc://{hosts[2]}"]
        _check(subprocess.run(argv, capture_output=True))


def _check(done: subprocess.CompletedProcess[bytes]) -> None:
    if done.returncode or done.stdout.strip() != b"42":
        raise RuntimeError(f"expected 42, got {done.stdout!r} and code {done.returncode}")


def _free_ports(count: int) -> list[int]:
    """Below those that the kernel gives to others while the servers import TensorFlow."""
    found: set[int] = set()
    while len(found) < count:
        with suppress(OSError), socket.create_server(("127.0.0.1", random.choice(PORTS))) as free:
            found.add(free.getsockname()[1])
    return list(found)


CONTESTANTS = {"by hand": by_hand, "tfmesos": by_tfmesos}


def run(
    sizes: Sequence[int] = (4,), times: int = 3, names: Sequence[str] = tuple(CONTESTANTS)
) -> Result:
    result = Result("in-graph", "in-graph: 2 ps + 2 workers + plus.py", "servers")
    if not programs.has_tensorflow():
        result.notes.append("TensorFlow is not installed: left out")
        return result
    contestants = {name: partial(_seconds, CONTESTANTS[name]) for name in names}
    result.contest(contestants, list(sizes), times)
    if len(names) == len(CONTESTANTS):
        ratio = result.ratio("seconds", "tfmesos", "by hand", sizes[0])
        result.notes.append(f"tfmesos / by hand: {ratio:.2f}")
    return result


def _seconds(work: Callable[[], None], _size: int) -> Measured:
    start = time.perf_counter()
    work()
    return {"seconds": time.perf_counter() - start}
