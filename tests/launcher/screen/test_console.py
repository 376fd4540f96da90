import asyncio
import contextlib
import io
import os
import re
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bounds import HANG
from tests.builders import workers
from tests.sentences import names
from tfmesos.core.outcome import Ending, Outcome
from tfmesos.errors import TaskFailed
from tfmesos.launcher.screen.console import AT_ONCE, MAX_WAITING, Console
from tfmesos.launcher.screen.standard_streams import Screen
from tfmesos.sanitize import fit, plain, tidy

(TASK,) = workers(1).tasks


class Page:
    """A screen that remembers what was written, in order."""

    def __init__(self, **options):
        self.out, self.err, self.all = [], [], []
        self.screen = Screen(out=self.write_out, err=self.write_err, **options)

    def write_out(self, text):
        self.out.append(text)
        self.all.append(text)

    def write_err(self, text):
        self.err.append(text)
        self.all.append(text)


class BlockedPage(Page):
    """A screen whose reader has gone for a coffee."""

    def __init__(self):
        super().__init__()
        self.released = threading.Event()

    def write_out(self, text):
        self.released.wait()
        super().write_out(text)


class SlowPage(Page):
    def write_out(self, text):
        time.sleep(0.1)
        super().write_out(text)


class ClosedPage(Page):
    def write_out(self, text):
        raise BrokenPipeError


def show(page, *calls):
    """What a console on *page* writes for these calls: (name, stream, lines, dropped)."""

    async def write():
        console = Console(page.screen)
        for name, stream, lines, dropped in calls:
            await console.output(name, stream, "".join(f"{line}\n" for line in lines), dropped)
        console.close()

    asyncio.run(write())


def test_lines_carry_their_tasks_name_and_keep_their_stream():
    page = Page()
    show(page, ("worker:0", "stdout", ["a", "b"], 0), ("ps:0", "stderr", ["c"], 0))
    assert "".join(page.out) == "[worker:0] a\n[worker:0] b\n"
    assert "".join(page.err) == "[ps:0] c\n"


def test_dropped_lines_are_counted_where_they_are_missing():
    page = Page()
    show(page, ("worker:0", "stdout", ["z"], 17))
    assert "".join(page.all).startswith("[worker:0] (17 lines left out here")


def test_colours_tell_tasks_apart_on_a_terminal_only():
    page = Page(colour_out=True, terminal_out=True)
    show(
        page, ("a:0", "stdout", ["x"], 0), ("b:0", "stdout", ["x"], 0), ("a:0", "stdout", ["y"], 0)
    )
    assert "".join(page.out) == (
        "\x1b[36m[a:0]\x1b[0m x\n\x1b[33m[b:0]\x1b[0m x\n\x1b[36m[a:0]\x1b[0m y\n"
    )


def test_a_task_cannot_move_the_cursor_of_a_terminal_but_may_use_colours():
    page = Page(colour_out=True, terminal_out=True)
    evil = "\x1b[2J\x1b[1;1H\x1b]0;title\x07a\x08\x1b[31mred\x1b[0m\x1bc\x9b1Kz\x1b"
    show(page, ("a:0", "stdout", [evil], 0))
    assert "".join(page.out).endswith(" a\x1b[31mred\x1b[0m1Kz\x1b[0m\n")


def test_a_colour_ends_with_its_line():
    page = Page(terminal_out=True)
    show(page, ("a:0", "stdout", ["\x1b[8mhidden", "plain"], 0))
    assert "".join(page.out) == "[a:0] \x1b[8mhidden\x1b[0m\n[a:0] plain\n"


def test_a_terminal_is_protected_also_where_no_colours_are_wanted(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    master, slave = os.openpty()
    saved = [os.dup(fd) for fd in (1, 2)]
    try:
        for fd in (1, 2):
            os.dup2(slave, fd)
        screen = Screen.of_this_process()
        page = Page(terminal_out=screen.terminal_out, terminal_err=screen.terminal_err)
    finally:
        for fd, old in zip((1, 2), saved, strict=True):
            os.dup2(old, fd)
            os.close(old)
        os.close(master)
        os.close(slave)
    show(page, ("a:0", "stdout", ["\x1b[2Jx"], 0), ("a:0", "stderr", ["\x1b[2Jy"], 0))
    assert (page.out, page.err) == (["[a:0] x\n"], ["[a:0] y\n"])


def test_a_python_program_on_a_terminal_is_protected_too(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    screen = Screen.of_python()
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert (screen.terminal_out, screen.terminal_err) == (True, sys.stderr.isatty())


@given(
    st.text(
        st.one_of(st.sampled_from("\x1b[];:?0123mJHK\\P_X^\x07\x9b\x9d\r\b\n"), st.characters())
    )
)
def test_whatever_a_line_holds_a_terminal_gets_text_and_colours_of_one_line(line):
    shown = tidy(line)
    plain = re.sub(r"\x1b\[[0-9;:]*m", "", shown)
    assert not re.search(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]", plain)
    assert shown == plain or shown.endswith("\x1b[0m")


@given(
    st.text(st.one_of(st.sampled_from("\x1b[];:?0123mJHK\\P_X^\x07\x9b\r\b\n"), st.characters()))
)
def test_whatever_others_call_themselves_nothing_of_it_changes_how_a_terminal_shows_the_rest(name):
    assert not re.search(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", plain(name))


EVIL = "\x1b[2J\x1b]0;title\x07evil\ntfrun: all is well"


def test_nothing_in_a_report_reaches_out_of_its_line():
    """Messages of Mesos, host names and reasons come from other machines."""
    ending = Ending(TASK, EVIL, 3, EVIL, (EVIL,), 0.0, "id", sandbox=EVIL)
    page = Page(terminal_err=True)
    console = Console(page.screen)
    error = TaskFailed("worker:0", f"{EVIL} on {EVIL}", 3)
    console.report(Outcome(error=error, cause=ending, others=(ending,), unstopped=(EVIL,)))
    console.close()
    text = "".join(page.err)
    assert "\x1b" not in text and "evil" in text
    assert [line[:6] for line in text.splitlines()].count("tfrun:") == 1


def test_nothing_that_is_said_or_shown_live_reaches_out_of_its_line():
    page = Page(live=True)
    console = Console(page.screen)
    console.say(EVIL)
    console.status(EVIL)
    while "".join(page.err).count("evil") < 2:
        pass
    console.close()
    text = "".join(page.err).replace(CLEARED, "")
    assert text.startswith("tfrun: evil\n  tfrun: all is well\n")
    said, _, live = text.partition("all is well\n")
    assert "\x1b" not in said
    assert live.replace(DRAWN, "") == "\reviltfrun: all is well\r\x1b[1A\x1b[J"


CLEARED, DRAWN = "\x1b[2K", "\n\x1b[J"  # before and behind the last line of what is live
HIDING = "host\x1b[8m\u202e"  # a name that hides, or turns round, what stands behind it


def test_words_of_others_hide_nothing_that_we_say():
    ending = Ending(TASK, HIDING, 3, f"{HIDING} failed", (f"{HIDING} tail",), 0.0, "id")
    page = Page(live=True, terminal_err=True)
    console = Console(page.screen)
    console.say(f"launching on {HIDING} now")
    console.report(Outcome(error=TaskFailed("worker:0", f"on {HIDING} failed", 3), cause=ending))
    console.status(f"waiting for {HIDING} still")
    while "still" not in "".join(page.err):
        pass
    console.close()
    text = "".join(page.err).replace(DRAWN, "").replace(CLEARED, "").replace("\r\x1b[1A\x1b[J", "")
    assert "\x1b" not in text and "\u202e" not in text
    for words in ("on host now\n", "on host failed\n", "host tail\n", "for host still"):
        assert words in text


@pytest.mark.parametrize(
    "text, width, shown",
    [
        ("short", 10, "short"),
        ("0123456789", 4, "0123"),
        ("e\u0301" * 5, 4, "e\u0301" * 4),  # an accent takes no room
        ("\u65e5\u672c\u8a9e", 5, "\u65e5\u672c"),  # these take two columns each
    ],
)
def test_the_live_line_is_cut_by_what_is_seen_of_it(text, width, shown):
    assert fit(text, width) == shown


def test_piped_lines_are_passed_on_as_they_are():
    page = Page()
    show(page, ("a:0", "stdout", ["\x1b[2Jx\ty"], 0))
    assert "".join(page.out) == "[a:0] \x1b[2Jx\ty\n"


def test_of_a_progress_bar_the_last_state_is_written():
    page = Page(colour_out=True, terminal_out=True)
    show(page, ("a:0", "stdout", ["10%\r50%\r100%\r"], 0))
    assert "".join(page.out) == "\x1b[36m[a:0]\x1b[0m 100%\n"
    page = Page()
    show(page, ("a:0", "stdout", ["10%\r50%\r100%\r"], 0))
    assert "".join(page.out) == "[a:0] 100%\n"


def test_the_live_line_gives_way_to_output_and_comes_back():
    page = Page(live=True)
    console = Console(page.screen)
    console.status("waiting")
    drawn, erased = f"\r{CLEARED}waiting{DRAWN}", "\r\x1b[1A\x1b[J"
    while drawn not in page.err:
        pass
    asyncio.run(console.output("a:0", "stdout", "x\n", 0))
    console.close()
    assert page.all[:3] == [drawn, erased, "[a:0] x\n"]
    assert page.all[3:] in ([], [drawn, erased])


def test_without_a_terminal_there_is_no_live_line():
    page = Page()
    console = Console(page.screen)
    console.status("waiting")
    console.close()
    assert page.all == []


def test_a_slow_reader_holds_up_the_output_and_nothing_else():
    page = BlockedPage()

    async def write():
        console = Console(page.screen)
        await console.output("a:0", "stdout", "first\n", 0)
        big = asyncio.create_task(console.output("a:0", "stdout", "x" * MAX_WAITING + "\n", 0))
        done, _ = await asyncio.wait({big}, timeout=0.05)
        assert not done
        page.released.set()
        await asyncio.wait_for(big, HANG)
        console.close()

    asyncio.run(write())
    assert len("".join(page.out)) > MAX_WAITING


def test_what_was_waiting_is_written_although_the_loop_has_ended():
    page = BlockedPage()
    console = Console(page.screen)

    async def give_up():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await console.output("a:0", "stdout", "x" * MAX_WAITING + "\n", 0)

    asyncio.run(give_up())
    page.released.set()
    console.say("the end")
    console.close()
    assert len("".join(page.out)) > MAX_WAITING and page.err == ["tfrun: the end\n"]


def test_once_hurried_it_waits_for_nobody_and_counts_what_it_leaves_out():
    page = BlockedPage()
    console = Console(page.screen)

    async def write():
        await console.output("a:0", "stdout", "first\n", 0)
        full = asyncio.create_task(console.output("a:0", "stdout", "x" * MAX_WAITING + "\n", 0))
        await asyncio.sleep(0)
        console.hurry()
        await asyncio.wait_for(full, HANG)
        await asyncio.wait_for(console.output("a:0", "stdout", "1\n2\n", 40), HANG)

    asyncio.run(write())
    console.say("interrupted")
    console.close(stalled_for=0.05)
    first, left_out = "".join(page.err).splitlines()
    assert first == "tfrun: interrupted"
    assert names(left_out, "tfrun: about 44 lines ", "left out")
    page.released.set()


def test_a_count_of_lines_that_nobody_reads_is_not_lost_either():
    page = BlockedPage()
    console = Console(page.screen)

    async def write():
        await console.output("a:0", "stdout", "first\n", 0)
        for _ in range(2):
            await console.output("a:0", "stderr", "", 500)

    asyncio.run(write())
    console.close(stalled_for=0.05)
    assert names(page.err[-1], "1001 lines", "left out")
    page.released.set()


def test_a_reader_that_is_slow_but_reads_is_waited_for_at_the_end():
    page = SlowPage()
    console = Console(page.screen)

    async def write():
        for number in range(8):
            await console.output("a:0", "stdout", f"{number}" * AT_ONCE + "\n", 0)

    asyncio.run(write())
    console.close(stalled_for=0.3)
    assert len(page.out) == 8 and page.err == []


def test_a_closed_reader_is_reported_once():
    told = []
    console = Console(ClosedPage().screen)
    console.on_failure = lambda error: told.append(type(error))
    asyncio.run(console.output("a:0", "stdout", "x\n", 0))
    asyncio.run(console.output("a:0", "stdout", "y\n", 0))
    console.close()
    assert told == [BrokenPipeError]


def test_only_what_the_level_allows_is_said():
    page = Page()
    console = Console(page.screen, level="notice")
    for level in ("debug", "info", "notice", "warning"):
        console.say(level, level)
    console.close()
    assert "".join(page.err) == "tfrun: notice\ntfrun: warning\n"


def test_the_report_names_the_culprit_its_last_lines_and_those_who_fell_after_it():
    def ending(code, reason, *tail):
        return Ending(TASK, "node-a", code, reason, tail, 0.0, "id")

    page = Page()
    console = Console(page.screen)
    console.report(
        Outcome(
            error=TaskFailed("worker:0", "exited with 3 on node-a", 3),
            cause=ending(3, "exited with 3", "one", "two"),
            others=(ending(143, "was killed by SIGTERM"),),
        )
    )
    console.close()
    first, tail, *lines, others = "".join(page.err).splitlines()
    assert first == "tfrun: worker:0 exited with 3 on node-a"
    assert names(tail, "  ", "last lines:") and lines == ["    one", "    two"]
    assert names(others, "  ", "after it", ": worker:0 (was killed by SIGTERM)")


def test_a_short_run_that_went_well_needs_no_words():
    page = Page()
    console = Console(page.screen)
    console.report(Outcome(times=(("running", 4.0),)))
    console.close()
    assert page.all == []


def test_of_a_long_run_that_went_well_it_tells_where_the_time_went():
    page = Page()
    console = Console(page.screen)
    console.report(Outcome(times=(("finding the master", 0.04), ("running", 61.0))))
    console.close()
    assert page.err == ["tfrun: done in 61.0 s: running 61.0 s\n"]
