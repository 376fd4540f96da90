"""One run on this machine, and where its time went: from its own events, as JSON."""

# ruff: noqa: E402 (the imports are what is measured)
from __future__ import annotations

import time

BEGAN = time.time()

import json
import sys
from contextlib import ExitStack

from tfmesos.config.job import Job
from tfmesos.engines.plugins import plugin_of
from tfmesos.inputs.merging import make_config

CONFIG = make_config([Job("worker", int(sys.argv[1]), cmd=sys.argv[2:])], master="local")
HEAD_START = ExitStack()
HEAD_START.enter_context(plugin_of("local").head_start(CONFIG))  # beside the other imports

import asyncio
import logging

from tfmesos.core import events as happened
from tfmesos.engines.local import events as local
from tfmesos.engines.local import setup  # noqa: F401
from tfmesos.launcher.run import Run
from tfmesos.launcher.screen.console import Console
from tfmesos.launcher.screen.standard_streams import Screen

PHASES = {  # what each of them ends with; the last such event counts
    "machine": local.MachineFound,
    "launch": local.TaskStarted,
    "register": happened.TaskRegistered,
    "start": happened.TaskReady,
    "run": happened.TaskExited,
}


class Diary(logging.Handler):
    """Notes when which event came."""

    def __init__(self) -> None:
        super().__init__()
        self.moments: dict[str, float] = {"import": time.time()}

    def emit(self, record: logging.LogRecord) -> None:
        for phase, kind in PHASES.items():
            if record.msg == "event: %s" and isinstance(record.args[0], kind):
                self.moments[phase] = time.time()


def main() -> None:
    diary = Diary()
    logger = logging.getLogger("tfmesos.launcher.run")
    logger.addHandler(diary)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    console = Console(Screen.of_python())
    with HEAD_START:
        outcome = asyncio.run(Run(CONFIG, console, "bench").go())
    console.close()
    if not outcome.ok:
        raise SystemExit(str(outcome.error))
    diary.moments["teardown"] = time.time()
    print(json.dumps(durations(diary.moments)))


def durations(moments: dict[str, float]) -> dict[str, float]:
    """How long each phase took; one that was overtaken took nothing."""
    spent, last = {}, BEGAN
    for phase in ("import", *PHASES, "teardown"):
        spent[phase] = max(0.0, moments[phase] - last)
        last = max(last, moments[phase])
    return spent


if __name__ == "__main__":
    main()
