"""Runs of one machine never have the same GPU."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import uuid

import pytest

from tfmesos.engines.local.gpu_claims import GpuClaims

HOLDER = """
import asyncio, sys
from tfmesos.engines.local.gpu_claims import GpuClaims

async def main():
    print(*GpuClaims().take(sys.argv[1:], len(sys.argv) - 1), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
def gpus():
    """Names that no other test uses."""
    return [f"GPU-{uuid.uuid4()}" for _ in range(3)]


@pytest.fixture
def claims():
    """Makes those of another run, all in one loop."""
    loop, made = asyncio.new_event_loop(), []

    def new():
        made.append(InLoop(loop))
        return made[-1]

    yield new
    for one in made:
        one.close()
    loop.close()


class InLoop:
    """GpuClaims for a test that is not in the loop."""

    def __init__(self, loop):
        self._loop, self._claims = loop, GpuClaims()

    def __getattr__(self, name):
        async def call(*args):
            answer = getattr(self._claims, name)(*args)
            await asyncio.sleep(0)  # the others have their turn
            return answer

        return lambda *args: self._loop.run_until_complete(call(*args))


def test_two_runs_get_different_gpus(claims, gpus):
    assert claims().take(gpus, 2) == tuple(gpus[:2])
    assert claims().take(gpus, 1) == (gpus[2],)


def test_a_run_gets_as_many_as_it_needs_or_none(claims, gpus):
    first, second = claims(), claims()
    first.take(gpus, 2)
    assert second.take(gpus, 2) == ()
    first.close()
    assert second.take(gpus, 3) == tuple(gpus)


def test_a_run_may_take_more_later_and_never_the_same_twice(claims, gpus):
    ours = claims()
    assert ours.take(gpus, 1) + ours.take(gpus, 2) == tuple(gpus)
    assert ours.others(gpus) == {}


def test_a_killed_process_frees_its_gpus_and_is_named_until_then(claims, gpus):
    command = [sys.executable, "-c", HOLDER, *gpus[:2]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as it:
        assert it.stdout.readline().split() == gpus[:2]
        ours = claims()
        who = ours.others(gpus)
        assert list(who) == gpus[:2] and str(it.pid) in who[gpus[0]]
        assert ours.take(gpus, 3) == ()
        it.kill()
    assert ours.take(gpus, 3) == tuple(gpus)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_the_user_who_has_a_gpu_is_named_and_nobody_else_can_free_it(claims, gpus):
    ours = claims()
    ours.take(gpus, 1)
    look = (
        "import os, sys; from tfmesos.engines.local.gpu_claims import GpuClaims; os.setuid(65534);"
        " it = GpuClaims(); print(it.take(sys.argv[1:], 1), it.others(sys.argv[1:]))"
    )
    words = [sys.executable, "-c", look, gpus[0]]
    seen = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert seen.startswith("() ") and f"process {os.getpid()} of root" in seen


def test_a_gpu_whose_holder_answers_nobody_is_not_free(claims, gpus):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(f"\0tfmesos-gpu-{gpus[0]}")
        ours = claims()
        assert ours.others(gpus) == {gpus[0]: "a process that does not answer"}
        assert ours.take(gpus, 3) == ()
    assert ours.others(gpus) == {}


def test_many_that_ask_do_not_disturb_who_has_it(claims, gpus):
    ours, other = claims(), claims()
    ours.take(gpus, 1)
    for _ in range(200):
        who = other.others(gpus)
        assert list(who) == [gpus[0]] and str(os.getpid()) in who[gpus[0]]


def test_a_stopped_run_keeps_its_gpus_however_many_ask(claims, gpus):
    command = [sys.executable, "-c", HOLDER, gpus[0]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as it:
        it.stdout.readline()
        it.send_signal(signal.SIGSTOP)
        other = claims()
        for _ in range(200):
            assert list(other.others(gpus)) == [gpus[0]]
        assert other.take(gpus, 3) == ()
        it.kill()
