"""When its command has ended a runner sends files of its directory home, whole or not at all."""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.packs import write
from tests.runners import Proxy, launcher, runner, settings, the_exit
from tests.sentences import names
from tfmesos.core.events import TaskExited
from tfmesos.launcher.links.collected_files import Brought


def bring(sandbox, home, command, globs, limit=10_000_000, through=lambda proxy: None):
    """What a task with this command brings home, and its end."""

    async def main():
        brought = Brought(home, limit, lambda task_id: "worker:0")
        async with launcher(collected=brought) as ours, Proxy(ours.address).running() as proxy:
            through(proxy)
            told = settings(proxy.address, bring=globs, bring_limit=limit, grace=30)
            with runner(sandbox, told, MESOS_SANDBOX=str(sandbox)) as theirs:
                ours.start(command)
                await ours.saw(TaskExited)
                await theirs.exited()
        brought.close()
        return brought, ours

    return asyncio.run(main())


@pytest.fixture
def sandbox(tmp_path):
    (tmp_path / "sandbox").mkdir()
    return tmp_path / "sandbox"


@pytest.mark.parametrize("code", [0, 3])
def test_files_are_home_before_the_end_is_known_however_the_command_ends(tmp_path, sandbox, code):
    script = f"echo for {{job_name}} > result-{{task_index}}; : > empty; exit {code}"
    brought, ours = bring(sandbox, tmp_path / "home", script, ["result-{task_index}", "empty"])
    assert the_exit(ours) == (code, f"exited with {code}")
    home = tmp_path / "home" / "worker-0"
    assert (home / "result-0").read_text() == "for worker\n"
    assert (home / "empty").read_bytes() == b""
    assert brought.error() is None and brought.summary().startswith(
        "2 files (11 bytes) of worker:0"
    )
    assert sorted(os.listdir(tmp_path / "home")) == ["worker-0"]


def test_a_connection_that_breaks_on_the_way_loses_and_repeats_nothing(tmp_path, sandbox):
    (sandbox / "model").write_bytes(os.urandom(3_000_000))

    def through(proxy):
        proxy.cut_after = 1_000_000

    brought, _ = bring(sandbox, tmp_path / "home", "true", ["model"], through=through)
    assert brought.error() is None
    there = tmp_path / "home" / "worker-0" / "model"
    assert there.read_bytes() == (sandbox / "model").read_bytes()


def test_what_is_beyond_the_limit_stays_and_is_named(tmp_path, sandbox):
    write(sandbox, a="x" * 600, b="x" * 600, c="x" * 300)
    brought, _ = bring(sandbox, tmp_path / "home", "true", ["?"], limit=1000)
    assert sorted(os.listdir(tmp_path / "home" / "worker-0")) == ["a", "c"]
    assert names(str(brought.error()), "not collected", "worker:0: b:", "limit")


def test_a_name_that_is_no_text_is_told(tmp_path, sandbox):
    open(os.path.join(os.fsencode(sandbox), b"\xff.h5"), "w").close()
    brought, _ = bring(sandbox, tmp_path / "home", "true", ["*.h5"])
    assert names(str(brought.error()), "not collected", r"worker:0: \udcff.h5:", "UTF-8")


def test_it_is_said_if_nothing_matches(tmp_path, sandbox):
    brought, ours = bring(sandbox, tmp_path / "home", "true", ["*.h5", "x"])
    (line,) = ours.lines("stderr")
    assert names(line, "tfmesos: no file", "*.h5, x")
    assert (brought.summary(), brought.error()) == ("", None)


def test_whoever_might_still_write_is_ended_before(tmp_path, sandbox):
    script = "setsid sh -c 'while :; do echo more >> log; done' & sleep 0.3"
    brought, _ = bring(sandbox, tmp_path / "home", script, ["log"])
    assert brought.error() is None
    assert (tmp_path / "home/worker-0/log").read_bytes() == (sandbox / "log").read_bytes()
