"""Ctrl-C while tfrun is still importing: one line, whatever it is importing just then."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.bounds import HANG
from tests.commands import environment, without_waits

# Interrupts the program when it looks for a certain module, and says that it did.
SITECUSTOMIZE = """
import os, sys

class Finder:
    def find_spec(name, path=None, target=None):
        if name == os.environ["INTERRUPTED_AT"]:
            os.write(1, b"interrupted at " + name.encode())
            os.kill(os.getpid(), 2)

sys.meta_path.insert(0, Finder)
"""
MODULES = [
    *(
        "gc",
        "tfmesos.errors",
        "tfmesos.cli.arguments",
        "tfmesos.inputs.merging",
        "tfmesos.config.launch_config",
        "tfmesos.engines.api",
    ),
    *("argparse", "asyncio", "tfmesos.launcher.screen.console", "tfmesos.launcher.run"),
]


def start(module, directory, *args):
    (directory / "sitecustomize.py").write_text(SITECUSTOMIZE)
    return subprocess.run(
        [sys.executable, "-c", "from tfmesos.tfrun import script; script()", *args],
        capture_output=True,
        text=True,
        env=environment(PYTHONPATH=str(directory), INTERRUPTED_AT=module),
        timeout=HANG,
    )


@pytest.mark.parametrize("module", MODULES)
def test_an_interrupt_during_an_import_is_one_line(tmp_path, module):
    done = start(module, tmp_path, "-w", "1", "--", "true")
    assert done.stdout == f"interrupted at {module}"
    assert (done.returncode, done.stderr) == (130, "tfrun: interrupted\n")


def test_an_ignored_interrupt_is_ignored_during_an_import_too(tmp_path):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = start("tfmesos.cli.arguments", tmp_path, "-w", "1", "--", "true")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (done.returncode, without_waits(done.stderr)) == (0, "")
    assert done.stdout == "interrupted at tfmesos.cli.arguments"
