"""python -m tests.mesos.embedded as a user runs it."""

from __future__ import annotations

import contextlib
import re
import subprocess

from tests.commands import EMBEDDED_MESOS, ROOT


@contextlib.contextmanager
def running(*flags, **options):
    command = [*EMBEDDED_MESOS, "--port", "0", *flags]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes, **options) as process:
        try:
            yield process, re.search(r"http://\S+", process.stdout.readline())[0]
        finally:
            process.terminate()
            process.wait()
