"""Two ps, two workers and examples/plus.py: tfmesos against the same five processes by hand."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from bench.timing import Contest

EXAMPLES = Path(__file__).parent.parent / "examples"

SERVER = """
import sys, json
import tensorflow as tf
cluster, job, index = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
tf.distribute.Server(cluster, job_name=job, task_index=index).join()
"""
CLIENT = """
import sys
sys.path.insert(0, sys.argv[1])
import plus
from quiet import tf
print(plus.add(tf, sys.argv[2]))
"""


def by_tfmesos() -> None:
    _check(subprocess.run([sys.executable, EXAMPLES / "plus.py"], stdout=subprocess.PIPE))


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
        argv = [sys.executable, "-c", CLIENT, str(EXAMPLES), f"grpc://{hosts[2]}"]
        _check(subprocess.run(argv, stdout=subprocess.PIPE))


def _check(done: subprocess.CompletedProcess[bytes]) -> None:
    if done.returncode or done.stdout.strip() != b"42":
        raise RuntimeError(f"expected 42, got {done.stdout!r} and code {done.returncode}")


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [s.getsockname()[1] for s in sockets]


def run(repetitions: int) -> Contest:
    contest = Contest("in-graph: 2 ps + 2 workers + plus.py", repetitions)
    contest.measure({"by hand": by_hand, "tfmesos": by_tfmesos})
    return contest
