"""One process holds a run; a launcher that has died lets go of it a moment later."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import socket
import time

import pytest

from tests.bounds import HANG
from tests.clock import SuspendedClock
from tfmesos.runs.event_json import to_json
from tfmesos.runs.launcher_process import LauncherProcess, this_process
from tfmesos.runs.run_directories import Store
from tfmesos.runs.takeover import hold
from tfmesos.runs.takeover.hold import Held, Hold


def run_of(folder, launcher):
    made = Store(folder / "runs").create(lambda: "abcd")
    made.about_file.write_text(json.dumps({"began": 1.0, "launcher": to_json(launcher)}))
    return made


def locked(run):
    file = os.open(run.lock_file, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def test_the_lock_of_a_launcher_that_is_dying_is_awaited(tmp_path, monkeypatch):
    dead = LauncherProcess(socket.gethostname(), "another boot", 1, 1)
    run = run_of(tmp_path, dead)
    file = locked(run)
    monkeypatch.setattr(hold.time, "sleep", lambda _: os.close(file))  # its last thread ends
    Hold(run).release()


def test_the_lock_of_a_living_launcher_is_not_awaited(tmp_path, monkeypatch):
    run = run_of(tmp_path, this_process())
    file = locked(run)
    monkeypatch.setattr(hold.time, "sleep", lambda _: pytest.fail("it waited"))
    with pytest.raises(Held, match=rf"run abcd is held by .* \(pid {os.getpid()}\)"):
        Hold(run)
    os.close(file)


def test_a_lock_that_nobody_lets_go_of_is_given_up(tmp_path, monkeypatch):
    run = run_of(tmp_path, LauncherProcess(socket.gethostname(), "another boot", 1, 1))
    file = locked(run)
    monkeypatch.setattr(hold, "DYING", 0.0)
    with pytest.raises(Held, match="run abcd is held"):
        Hold(run)
    os.close(file)


def test_a_launcher_that_was_stopped_looks_whether_the_run_is_still_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(hold, "BEAT_EVERY", 0.01)
    monkeypatch.setattr(hold, "LATE", 0.2)
    held = Hold(run_of(tmp_path, this_process()))

    async def main():
        woke = asyncio.Event()

        async def on_wake():
            woke.set()

        beating = asyncio.ensure_future(held.keep_beating(lambda: 5.0, on_wake))
        await asyncio.sleep(0)
        assert not woke.is_set()
        # As if it had been stopped: nothing of it runs.
        asyncio.get_running_loop().call_soon(time.sleep, 0.3)
        await asyncio.wait_for(woke.wait(), HANG)
        beating.cancel()

    asyncio.run(main())
    held.release()


def test_a_launcher_whose_machine_was_suspended_looks_whether_the_run_is_still_its_own(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(hold, "BEAT_EVERY", 0.0)
    held, clock = Hold(run_of(tmp_path, this_process())), SuspendedClock()

    async def main():
        woke = asyncio.Event()

        async def on_wake():
            woke.set()

        beating = asyncio.ensure_future(held.keep_beating(lambda: 5.0, on_wake, clock))
        await asyncio.sleep(0)
        clock.suspend(60)
        await asyncio.wait_for(woke.wait(), HANG)
        beating.cancel()

    asyncio.run(main())
    held.release()


def test_a_launcher_that_is_only_busy_asks_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(hold, "BEAT_EVERY", 0.0)
    held, beats = Hold(run_of(tmp_path, this_process())), asyncio.Queue()

    async def main():
        beating = asyncio.ensure_future(
            held.keep_beating(lambda: beats.put_nowait(1) or 5.0, lambda: pytest.fail("it asked"))
        )
        for _ in range(5):
            await asyncio.wait_for(beats.get(), HANG)
        beating.cancel()

    asyncio.run(main())
    held.release()
