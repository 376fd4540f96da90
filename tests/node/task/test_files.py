"""A runner has the files that come to its task before it registers, and removes them at its end."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.bounds import HANG
from tests.packs import by_hand, everything_in, packed, write
from tests.runners import Proxy, launcher, runner, settings, the_exit
from tests.sentences import names
from tfmesos.core.events import TaskExited, TaskRegistered
from tfmesos.errors import CANNOT_UNPACK
from tfmesos.launcher.ship.pack import Pack
from tfmesos.shared import wire


@pytest.fixture
def pack(tmp_path):
    source = tmp_path / "source"
    return packed(write(source, noise_bin=os.urandom(3_000_000), train_py="print('trained')"))


@pytest.fixture
def sandbox(tmp_path):
    (tmp_path / "sandbox").mkdir()
    return tmp_path / "sandbox"


def told(address, pack, **more):
    return settings(address, packs={"ship": pack.describe()}, **more)


def run(sandbox: Path, pack: Pack, command, **start):
    async def main():
        async with launcher(packs={"ship": pack}) as ours:
            env = {"MESOS_SANDBOX": str(sandbox)}
            with runner(sandbox, told(ours.address, pack), **env) as theirs:
                ours.start(command, **start)
                await ours.saw(TaskExited)
                await theirs.exited()
                return ours

    return asyncio.run(main())


def test_the_command_finds_what_was_shipped_in_its_directory(sandbox, pack):
    ours = run(sandbox, pack, "pwd; ls; python3 train.py; echo $TFMESOS_SHIP_DIR")
    ship = f"{sandbox}/ship"
    assert ours.lines() == [ship, "noise.bin", "train.py", "trained", ship]


def test_another_directory_counts_from_what_was_shipped(sandbox, tmp_path):
    pack = packed(write(tmp_path / "source", inner__deep__x_py=""))
    ours = run(sandbox, pack, "pwd; ls", cwd="inner/deep", cwd_is_given=True)
    assert ours.lines() == [f"{sandbox}/ship/inner/deep", "x.py"]


def test_an_absolute_directory_is_one_of_the_node(sandbox, pack, tmp_path):
    ours = run(sandbox, pack, "pwd", cwd=str(tmp_path), cwd_is_given=True)
    assert ours.lines() == [str(tmp_path)]


def test_a_directory_that_was_not_shipped_is_named(sandbox, pack):
    ours = run(sandbox, pack, "pwd", cwd="missing", cwd_is_given=True)
    missing = f"its working directory {sandbox}/ship/missing does not exist"
    assert the_exit(ours) == (1, f"could not be started: {missing}")


def test_the_copy_goes_with_the_task_and_what_it_wrote_stays(sandbox, pack):
    run(sandbox, pack, "echo weights > model.h5; false")
    assert sorted(everything_in(sandbox / "ship")) == ["model.h5"]


def test_a_transfer_goes_on_where_it_broke_off(sandbox, tmp_path):
    pack = packed(write(tmp_path / "source", noise_bin=os.urandom(3_000_000)))
    asked: list[int] = []

    async def main():
        async with launcher(packs={"ship": pack}) as ours, Proxy(ours.address).running() as proxy:
            sender = ours.rendezvous.sender
            answer, read = sender.answer, pack.read

            def note(task_id, writer, question):
                asked.append(question["at"])
                answer(task_id, writer, question)

            def cut_in_the_middle(at, size):
                if at > 2_000_000 and len(asked) == 1:
                    proxy.cut()
                return read(at, size)

            sender.answer, pack.read = note, cut_in_the_middle
            with runner(sandbox, told(proxy.address, pack), MESOS_SANDBOX=str(sandbox)):
                await ours.saw(TaskRegistered)
                return everything_in(sandbox / "ship")

    found = asyncio.run(main())
    assert len(asked) == 2 and asked[0] == 0 < asked[1] < pack.size
    assert found == everything_in(tmp_path / "source")


def test_a_damaged_transfer_starts_nothing_and_leaves_nothing(sandbox, pack):
    pack._contents.seek(1000)
    pack._contents.write(b"other")
    ours = run(sandbox, pack, "touch began")
    code, reason = the_exit(ours)
    assert code == CANNOT_UNPACK
    assert names(reason, "could not unpack", "damaged")
    assert sorted(everything_in(sandbox)) == ["stderr", "stdout"]


def test_a_stop_ends_a_transfer_and_leaves_nothing(sandbox, pack):
    async def main():
        async with launcher(packs={"ship": pack}) as ours:
            asked = asyncio.Event()  # and never answered
            ours.rendezvous.sender.answer = lambda *question: asked.set()
            with runner(sandbox, told(ours.address, pack)) as theirs:
                await asyncio.wait_for(asked.wait(), HANG)
                ours.send(type="stop", grace=0, reason="enough")
                await ours.saw(TaskExited)
                await theirs.exited()
                return the_exit(ours)

    assert asyncio.run(main()) == (143, "was stopped before it started")
    assert sorted(everything_in(sandbox)) == ["stderr", "stdout"]


def test_a_runner_keeps_its_heartbeat_while_it_unpacks(sandbox):
    """All directories are made before the loop is entered again."""
    pack = by_hand(directories=[[f"d{number}", 0o755] for number in range(2000)])
    beats: list[wire.Message] = []

    async def main():
        async with launcher(packs={"ship": pack}) as ours:
            take = ours.rendezvous._reports.take

            async def note(link, message):
                beats.extend([message] if message["type"] == "heartbeat" else [])
                await take(link, message)

            ours.rendezvous._reports.take = note
            values = told(ours.address, pack, heartbeat=0)
            with runner(sandbox, values, MESOS_SANDBOX=str(sandbox)):
                await ours.saw(TaskRegistered)

    asyncio.run(main())
    assert len(beats) > 1000
