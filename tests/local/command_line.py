"""python -m tfmesos.local as a user runs it."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys


@contextlib.contextmanager
def running(*flags, **options):
    command = [sys.executable, "-m", "tfmesos.local", "--port", "0", *flags]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, **options) as process:
        try:
            yield process, re.search(r"http://\S+", process.stdout.readline())[0]
        finally:
            process.terminate()
            process.wait()
