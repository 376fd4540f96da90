"""A line that is rewritten again and again is told of as it changes, but not too often."""

from __future__ import annotations

import asyncio
import sys
import time

from tests.runners import launcher, runner, settings
from tfmesos.node.loop import Loop
from tfmesos.node.process.line_splitter import LineSplitter
from tfmesos.node.process.progress_bar_sender import LONGEST, ProgressBarSender

BAR = """
import os, sys, time
for number in range(100):
    sys.stderr.write(f"\\r{number + 1}/100")
    sys.stderr.flush()
sys.stdout.write("a line between\\n")
sys.stdout.flush()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
sys.stderr.write("\\n")
sys.stderr.flush()
time.sleep(float(sys.argv[2]))
"""


def test_a_line_that_is_rewritten_has_a_state_until_it_ends():
    splitter = LineSplitter()
    assert (splitter.feed(b"begin"), splitter.progress) == ("", "")
    assert (splitter.feed(b"\r10%"), splitter.progress) == ("", "10%")
    assert (splitter.feed(b" more\r"), splitter.progress) == ("", "10% more")
    assert (splitter.feed(b"20%\r"), splitter.progress) == ("", "20%")
    assert (splitter.feed(b"\r\r30%"), splitter.progress) == ("", "30%")
    assert (splitter.feed(b"\nnext"), splitter.progress) == ("30%\n", "")
    assert (splitter.feed(b" line\n"), splitter.progress) == ("next line\n", "")


def test_only_the_last_state_of_a_line_is_kept_however_it_comes():
    for text in (b"10%\r20%\r30%\n", b"\r10%\r30%\r\n", b"10%\r30%\r\r\n"):
        for size in (1, 2, 3, 100):
            splitter = LineSplitter()
            lines = "".join(splitter.feed(text[at : at + size]) for at in range(0, len(text), size))
            assert lines == "30%\n"
    splitter = LineSplitter()
    assert splitter.feed(b"10%\r20%") + splitter.close() == "20%\n"
    assert splitter.progress == ""


def test_the_end_of_a_line_of_windows_is_no_progress():
    splitter = LineSplitter()
    assert (splitter.feed(b"one\r\ntwo\r\n"), splitter.progress) == ("one\ntwo\n", "")


def test_a_bar_of_many_states_takes_no_more_room_than_its_last_one():
    splitter = LineSplitter()
    for number in range(100_000):
        assert splitter.feed(b"\r%d%%" % number) == ""
    assert splitter._rest == "99999%"
    assert splitter.feed(b"\n") == "99999%\n"


def test_states_that_come_fast_are_told_once_in_a_while_and_the_last_one_is_told():
    told = []
    with Loop() as loop:
        progress = ProgressBarSender(loop, lambda message: told.append(message["text"]), every=0.2)
        began = time.monotonic()
        for number in range(1000):
            progress.update(str(number))
        assert told == ["0"]
        loop.run_until(lambda: len(told) == 2)
        assert told == ["0", "999"] and time.monotonic() - began >= 0.2
        progress.update("x" * 1000)
        loop.run_until(lambda: len(told) == 3)
        assert told[2] == "x" * LONGEST
        progress.update("")
        loop.run_until(lambda: len(told) == 4)
        loop.run_until(lambda: not loop._timers)  # nothing wakes it any more
        assert told[3] == ""


def test_a_runner_tells_of_a_progress_bar_and_of_its_end_if_somebody_looks(tmp_path):
    end = tmp_path / "end"

    async def main():
        async with launcher() as ours:
            with runner(tmp_path, settings(ours.address)) as theirs:
                ours.start([sys.executable, "-c", BAR, str(end), "600"], progress_every=0.05)
                await ours.until(lambda: ours.progress and ours.progress[-1] == "100/100")
                assert await ours.until(lambda: ours.lines()) == ["a line between"]
                assert ours.lines("stderr") == []
                end.touch()
                await ours.until(lambda: ours.progress[-1] == "")
                ours.send(type="stop", grace=0, reason="", examine=False)
                await theirs.exited()
                return ours

    ours = asyncio.run(main())
    assert ours.lines("stderr") == ["100/100"] and len(ours.progress) < 50


def test_a_runner_that_nobody_looks_at_tells_of_no_progress(tmp_path):
    end = tmp_path / "end"
    end.touch()

    async def main():
        async with launcher() as ours:
            with runner(tmp_path, settings(ours.address)) as theirs:
                ours.start([sys.executable, "-c", BAR, str(end), "0"])
                await theirs.exited()
                return ours

    ours = asyncio.run(main())
    assert ours.progress == [] and ours.lines("stderr") == ["100/100"]
