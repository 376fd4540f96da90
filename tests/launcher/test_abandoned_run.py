"""The engine ends the tasks of a run of which only the keys are left, or the keys stay."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from tests.bounds import HANG
from tfmesos.config.job import Job
from tfmesos.engines.slurm import events as happened
from tfmesos.engines.slurm.api.commands import Answer
from tfmesos.engines.slurm.driver import SlurmDriver, Surroundings
from tfmesos.errors import EngineError
from tfmesos.inputs.merging import make_config
from tfmesos.launcher import abandoned_run
from tfmesos.launcher.keys import Keys

RUN = "tfmesos-ab12"
AWAY = Answer(1, "", "squeue: error: Unable to contact slurm controller (connect failure)")


class Slurm:
    """Its controller does not answer these commands, the first *times* that they are run."""

    def __init__(self, names, times):
        self._names = names
        self._left = times
        self.cancelled = []

    async def run(self, name, *arguments, given="", within=0.0):
        if name in self._names and self._left:
            self._left -= 1
            return AWAY
        if name == "scancel":
            self.cancelled.append(arguments[-1])
        listed = "7|tfmesos tfmesos-ab12 1\n8|mine\n"
        return Answer(0, listed if "--format=%i|%k" in arguments else "", "")


class Setup:
    def __init__(self, commands, context):
        self._commands = commands
        self._context = context

    async def open(self, stack, end, is_hurried):
        pass

    def driver(self, engine, emit, expect):
        around = Surroundings(self._commands, (), list, None, happened.SlurmFound())
        return SlurmDriver(self._context, around, engine, emit, expect)


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch):
    pause = asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", lambda seconds: pause(seconds / 100))


def ended(commands, within, monkeypatch):
    monkeypatch.setattr(abandoned_run, "END_WITHIN", within)
    plugin = SimpleNamespace(new_setup=lambda context: Setup(commands, context))
    monkeypatch.setattr(abandoned_run, "plugin_of", lambda name: plugin)
    config = make_config([Job("worker", 1)], master="slurm://")
    abandoned_run.end_tasks(config, RUN, Keys({}, 2))
    return commands.cancelled


@pytest.mark.parametrize("name", ["squeue", "scancel"])
def test_a_run_of_which_a_controller_does_not_list_or_cancel_the_jobs_has_not_ended(
    name, monkeypatch
):
    commands = Slurm((name,), 10**9)
    with pytest.raises(EngineError, match="Slurm does not answer"):
        ended(commands, 0.1, monkeypatch)
    assert commands.cancelled == []


@pytest.mark.parametrize("name", ["squeue", "scancel"])
def test_a_controller_that_does_not_answer_at_first_is_asked_again(name, monkeypatch):
    assert ended(Slurm((name,), 2), HANG, monkeypatch) == ["7"]
