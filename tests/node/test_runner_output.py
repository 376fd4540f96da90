"""What a command writes reaches the launcher whole, or is counted, and never stalls it."""

from __future__ import annotations

import asyncio
import os
import socket
import sys

import pytest

from tests.bounds import HANG
from tests.runners import (
    Proxy,
    launcher,
    run,
    runner,
    settings,
    the_exit,
)
from tfmesos.core.events import (
    RunnerBack,
    RunnerOutOfTouch,
    TaskExited,
    TaskReady,
    TaskRegistered,
)


def test_both_streams_reach_the_launcher_and_the_sandbox(tmp_path):
    ours, _, theirs = run(tmp_path, "echo out; echo err >&2; printf 'caf\\303\\251 \\377'")
    assert ours.lines("stdout") == ["out", "café \\xff"]
    assert ours.lines("stderr") == ["err"]
    assert theirs.stdout == b"out\ncaf\xc3\xa9 \xff"
    assert theirs.stderr == "err\n"


def test_without_forwarding_only_the_tail_comes_back(tmp_path):
    ours, _, theirs = run(tmp_path, "seq 100; exit 1", forward=False)
    assert ours.output == []
    assert ours.events[-1].tail == tuple(str(number) for number in range(81, 101))
    assert theirs.stdout.endswith(b"100\n")


def test_a_flood_of_output_arrives_whole(tmp_path):
    ours, _, theirs = run(tmp_path, "seq 200000 | head -c 1000000; printf x")
    expected = "\n".join(map(str, range(1, 200001)))[:1000000] + "x"
    assert ours.dropped == 0
    assert "\n".join(ours.lines()) == expected
    assert theirs.stdout.decode() == expected


def test_a_copy_of_the_output_goes_to_the_address_that_wants_it(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        run(tmp_path, "echo out; echo err >&2; printf end", copy_to=f"{host}:{port}")
        listener.settimeout(HANG)
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as file:
            assert file.read() == b"[worker:0] out\n[worker:0] end\n"


def test_a_copy_that_nobody_reads_stalls_nothing(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        _, code, _ = run(
            tmp_path, "head -c 20000000 /dev/zero; echo", copy_to=f"{host}:{port}", forward=False
        )
    assert code == 0


def test_a_copy_to_nowhere_harms_nothing(tmp_path):
    for place in ("127.0.0.1:1", "nonsense"):
        ours, code, _ = run(tmp_path, "echo; echo x", copy_to=place)
        assert (code, ours.lines()) == (0, ["", "x"])


@pytest.mark.parametrize("cut_after", [3_000, 20_000, 150_000])
def test_a_cut_connection_loses_no_line_and_doubles_none(tmp_path, cut_after):
    numbers = "import time\nfor n in range(30000):\n    print(n)\n    n % 1000 or time.sleep(0.005)"

    async def main():
        async with launcher() as ours, Proxy(ours.address).running() as proxy:
            with runner(tmp_path, settings(proxy.address)) as theirs:
                proxy.cut_after = cut_after
                ours.start([sys.executable, "-c", numbers])
                await ours.until(lambda: proxy.cut_after is None and ours.lines())
                proxy.cut()
                await ours.saw(TaskExited)
                return ours, await theirs.exited()

    ours, code = asyncio.run(main())
    assert code == 0
    assert ours.dropped == 0
    assert ours.lines() == [str(number) for number in range(30000)]
    touch = (RunnerOutOfTouch, RunnerBack)
    kinds = [type(event) for event in ours.events if not isinstance(event, touch)]
    assert kinds == [TaskRegistered, TaskReady, TaskExited]


def test_an_exit_during_a_broken_connection_is_reported_after_it(tmp_path):
    os.mkfifo(tmp_path / "gate")
    os.mkfifo(tmp_path / "end")

    async def main():
        async with launcher() as ours, Proxy(ours.address).running() as proxy:
            with runner(tmp_path, settings(proxy.address)) as theirs:
                ours.start("echo; exec 3> end; read line < gate; echo done; exit 9")
                await ours.until(lambda: ours.lines())
                proxy.cut(for_good=True)
                await asyncio.to_thread(let_it_end, tmp_path)
                proxy.mend()
                await ours.saw(TaskExited)
                return ours, await theirs.exited()

    ours, code = asyncio.run(main())
    assert (code, *the_exit(ours)) == (9, 9, "exited with 9")
    assert ours.lines() == ["", "done"]


def let_it_end(sandbox):
    with open(sandbox / "end") as end:
        (sandbox / "gate").write_text("go\n")
        end.read()


def test_a_slow_launcher_does_not_stall_the_command_and_every_line_is_accounted_for(tmp_path):
    numbers = "for n in range(40000): print('%0500d' % n)\nopen('done', 'w')"
    os.mkfifo(tmp_path / "done")

    async def main():
        async with launcher() as ours:
            ours.open.clear()
            with runner(tmp_path, settings(ours.address)) as theirs:
                ours.start([sys.executable, "-c", numbers])
                await asyncio.to_thread((tmp_path / "done").read_text)
                ours.open.set()
                await ours.saw(TaskExited)
                return ours, await theirs.exited(), theirs

    ours, code, theirs = asyncio.run(main())
    numbers_seen = [int(line) for line in ours.lines()]
    assert code == 0
    assert ours.dropped > 0
    assert numbers_seen == sorted(set(numbers_seen))
    assert len(numbers_seen) + ours.dropped == 40_000
    assert theirs.stdout.count(b"\n") == 40_000
    assert ours.events[-1].tail[-1] == f"{39_999:0500d}"


def test_a_command_faster_than_its_launcher_waits_and_loses_nothing(tmp_path):
    """40 MB at once, five times what the runner holds."""
    fast = "import os\nfor n in range(640): os.write(1, b'%065535d\\n' % n)"

    async def main():
        async with launcher() as ours:
            with runner(tmp_path, settings(ours.address)) as theirs:
                ours.start([sys.executable, "-c", fast])
                await ours.saw(TaskExited)
                return ours, await theirs.exited()

    ours, code = asyncio.run(main())
    assert (code, ours.dropped) == (0, 0)
    assert [int(line[-4:]) for line in ours.lines()] == list(range(640))


def test_a_command_waits_for_a_launcher_on_the_same_machine_and_loses_nothing(tmp_path):
    numbers = "for n in range(40000): print('%0500d' % n)\nopen('done', 'w')"

    async def main():
        async with launcher() as ours:
            ours.open.clear()
            with runner(tmp_path, settings(ours.address, same_machine=True)) as theirs:
                ours.start([sys.executable, "-c", numbers])
                await ours.saw(TaskReady)
                await asyncio.sleep(2.0)  # far longer than it waits for a launcher elsewhere
                assert not (tmp_path / "done").exists()
                ours.open.set()
                await ours.saw(TaskExited)
                return ours, await theirs.exited()

    ours, code = asyncio.run(main())
    assert (code, ours.dropped) == (0, 0)
    assert [int(line) for line in ours.lines()] == list(range(40_000))
