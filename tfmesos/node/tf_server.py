"""A TensorFlow server: what runs in the process of a task that has no command.

Its standard input is a socket to the runner. It reads its cluster there, answers that it listens
or what went wrong, and ends when the runner closes the socket.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import socket
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class CannotServe(Exception):
    """The reason, as the user reads it."""


def main() -> None:
    print_stacks_if_asked()
    channel = socket.socket(fileno=os.dup(0))
    lines = channel.makefile("rb")
    try:
        tensorflow = import_tensorflow()  # seconds; meanwhile the others register
        line = lines.readline()
        server = start(tensorflow, json.loads(line)) if line else None
    except CannotServe as error:
        channel.sendall(json.dumps({"error": str(error)}).encode() + b"\n")
        os._exit(1)
    channel.sendall(b"{}\n")
    lines.read()  # until the runner ends, or closes the socket
    del server
    os._exit(0)  # TensorFlow's threads do not end by themselves


def print_stacks_if_asked() -> None:
    """By ``tfrun stacks``, where py-spy is missing."""
    if hasattr(signal, "SIGRTMAX"):
        faulthandler.register(signal.SIGRTMAX)


def import_tensorflow() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    try:
        import tensorflow
    except ImportError as error:
        problem = f"TensorFlow cannot be imported by {sys.executable} ({error})"
        raise CannotServe(problem) from error
    if not hasattr(getattr(tensorflow, "distribute", None), "Server"):
        version = getattr(tensorflow, "__version__", "of unknown version")
        problem = f"TensorFlow {version} of {sys.executable} is too old"
        raise CannotServe(f"{problem}: it has no tf.distribute.Server; install 2.x")
    return tensorflow


def start(tf: Any, task: dict[str, Any]) -> Any:
    """The server of *task*, listening."""
    cluster = {
        job: {int(index): address for index, address in addresses.items()}
        for job, addresses in task["cluster"].items()
    }
    try:
        return tf.distribute.Server(
            cluster,
            job_name=task["job"],
            task_index=task["index"],
            protocol=task["protocol"],
            config=device_counts(tf, task),
        )
    except Exception as error:  # TensorFlow has no common base for what can go wrong here
        address = cluster[task["job"]][task["index"]]
        words = str(error).strip().splitlines() or [type(error).__name__]
        where = f"{address} over {task['protocol']}"
        raise CannotServe(f"no TensorFlow server at {where}: {words[0]}") from error


def device_counts(tf: Any, task: dict[str, Any]) -> Any:
    """Of the resources of *task*, for the sessions of its server."""
    devices = {"CPU": max(1, int(task["cpus"])), "GPU": int(task["gpus"])}
    return tf.compat.v1.ConfigProto(device_count=devices)


if __name__ == "__main__":
    main()
