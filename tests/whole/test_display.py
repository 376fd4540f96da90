"""What a person sees on a terminal while tasks run, and what is left there afterwards."""

from __future__ import annotations

import os
import re
import shlex
import sys

import pytest

from tests.commands import needs_tensorflow
from tests.mesos.genuine.conftest import unavailable
from tests.terminal import PROMPT, TFRUN, is_available, terminal

# As tqdm writes it; ends when there is a file with the name of its first argument.
BAR = """
import itertools, os, sys, time
for number in itertools.count():
    done = min(number, 99)
    bar = f"{done:3}%|{'█' * (done // 10):10}| {done}/100 [00:01<00:09, 9it/s]"
    sys.stderr.write(f"\\rEpoch 1: {bar}")
    sys.stderr.flush()
    if number < 100 and number % 20 == 0:
        print("step", number, flush=True)
    if number > 99 and os.path.exists(sys.argv[1]):
        break
    time.sleep(0.01)
sys.stderr.write("\\n")
"""

KERAS = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras, numpy, sys, time
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile(loss="mse")
class Wait(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.01)
        while batch == 59 and not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
model.fit(numpy.ones((100, 4)), numpy.ones(100), batch_size=1, epochs=1, callbacks=[Wait()])
"""


@pytest.fixture(scope="module", autouse=True)
def tmux():
    if not is_available():
        unavailable("tmux or bash is not installed")


@pytest.fixture
def end(tmp_path):
    return tmp_path / "end"


def command(tmp_path, end, *flags, code=BAR, job="-w 2 -s 1"):
    program = tmp_path / "program.py"
    program.write_text(code)
    return f"{TFRUN} {job} {' '.join(flags)} -- {sys.executable} {program} {end}"


def table(screen):
    """The lines of the table on the screen, without its header; there is at most one."""
    lines = screen.splitlines()
    headers = [number for number, line in enumerate(lines) if line.startswith("TASK ")]
    assert len(headers) <= 1, screen
    return lines[headers[0] + 1 :] if headers else []


def full(screen):
    return len(found := table(screen)) == 3 and all("99/100" in row for row in found)


def test_each_task_has_a_row_with_its_progress_below_the_output_and_none_is_left(tmp_path, end):
    with terminal() as shell:
        shell.type(command(tmp_path, end))
        screen = shell.until(full)
        assert [row.split()[:2] for row in table(screen)] == [
            ["ps:0", "running"],
            ["worker:0", "running"],
            ["worker:1", "running"],
        ]
        assert "━━━━━━━━━─ Epoch 1: 99% 99/100" in table(screen)[0]
        above = screen[: screen.index("TASK ")]
        assert "[worker:0] step 80" in above and "99/100" not in above
        shell.until(lambda screen: "%  " in screen and " MB  " in screen)  # it is measured, too
        end.touch()
        left = shell.until_prompt()
        assert "TASK " not in left and "━" not in left
        for name in ("ps:0", "worker:0", "worker:1"):
            bars = [line for line in left.splitlines() if f"[{name}] Epoch" in line]
            assert bars == [f"[{name}] Epoch 1:  99%|█████████ | 99/100 [00:01<00:09, 9it/s]"]
        said = left.splitlines()[-3:-1]  # it is two lines if the machine takes its time
        assert any(line.startswith("tfrun: done in ") for line in said)
        assert shell.has_cursor


@needs_tensorflow
def test_the_fit_of_keras_is_shown_as_progress(tmp_path, end):
    with terminal(120) as shell:
        shell.type(command(tmp_path, end, code=KERAS, job="-w 1"))
        shows = re.compile(r"^worker:0 +running .* [━─]{10} (\d+)/100 \S+ .*loss: ", re.MULTILINE)
        screen = shell.until(lambda screen: shows.search(screen))
        assert 1 <= int(shows.search(screen)[1]) <= 60
        assert "/100" not in screen[: screen.index("TASK ")]
        end.touch()
        left = shell.until_prompt()
        assert "TASK " not in left and left.count("100/100") == 1


def test_a_smaller_and_a_larger_terminal_do_not_tear_the_table(tmp_path, end):
    with terminal(100, 24) as shell:
        shell.type(command(tmp_path, end))
        shell.until(full)
        for columns, rows in ((40, 20), (120, 30), (40, 12), (60, 15)):
            shell.resize(columns, rows)
            fits = "PROGRESS" if columns == 40 else "TIME"
            screen = shell.until(
                lambda screen, fits=fits: len(table(screen)) == 3 and fits in screen
            )
            assert all(len(line) < columns for line in screen.splitlines() if "running" in line)
        end.touch()
        left = shell.until_prompt()
        assert "TASK " not in left and "━" not in left


# Draws a table for each width that the terminal has, below twenty lines of output.
RESIZED = """
import os, sys, time
from tfmesos.launcher.screen.live_area import LiveArea

class Rows:
    def lines(self, columns, rows, colour=False):
        return [f"{name} {'x' * 80}"[: columns - 1] for name in ("TASK", "one", "two")]

def write(text):
    sys.stderr.write(text)
    sys.stderr.flush()

area = LiveArea(write, False)
for number in range(20):
    area.draw(None)
    write(f"line {number}\\n")
    area.draw(Rows())
size = os.get_terminal_size(2)
while not os.path.exists(sys.argv[1]):
    if os.get_terminal_size(2) != size:
        size = os.get_terminal_size(2)
        area.draw(Rows())
    time.sleep(0.01)
area.draw(None)
"""


def test_lines_above_the_table_survive_every_change_of_the_width(tmp_path, end):
    (tmp_path / "program.py").write_text(RESIZED)
    with terminal(100, 30) as shell:
        shell.type(f"{sys.executable} {tmp_path}/program.py {end}")
        for columns in (100, 40, 100, 40, 100, 60, 100):
            shell.resize(columns, 30)
            row = f"two {'x' * 80}"[: columns - 1]
            shell.until(lambda screen, row=row: screen.splitlines()[-1:] == [row])
            assert len(table(shell.screen())) == 2
        end.touch()
        left = shell.until_prompt().splitlines()
        assert left[-21:-1] == [f"line {number}" for number in range(20)]


def test_a_narrow_terminal_shows_each_run_and_each_task_in_one_line(tmp_path, end):
    end.touch()
    with terminal(60) as shell:  # E''ND: what is typed may be broken anywhere
        shell.type(f"{command(tmp_path, end, job='-w 2')} --and some more words")
        shell.until_prompt()
        shell.type(f"clear; {TFRUN} list; {TFRUN} status 2> /dev/null; echo E''ND")
        screen = shell.until(lambda screen: "\nEND" in screen)
        rows = screen.splitlines()
        assert rows[0].startswith("ID ") and " succeeded " in rows[1]
        assert rows[1][:4] == rows[2][:4]  # the status of the run follows its row at once


def test_more_tasks_than_the_terminal_has_room_for_are_shown_by_job(tmp_path, end):
    with terminal(100, 10) as shell:
        shell.type(command(tmp_path, end, job="-w 6 -s 1"))
        wanted = "worker:0 Epoch 1: 99%"
        screen = shell.until(lambda screen: len(table(screen)) == 2 and wanted in table(screen)[1])
        assert table(screen)[1].startswith("worker x 6  6 running")
        shell.resize(100, 30)
        shell.until(lambda screen: len(table(screen)) == 7)
        end.touch()
        assert "TASK " not in shell.until_prompt()


def test_ctrl_z_leaves_the_terminal_to_the_shell_and_fg_takes_it_back(tmp_path, end):
    with terminal() as shell:
        shell.type(command(tmp_path, end))
        shell.until(full)
        shell.press("C-z")
        screen = shell.until(lambda screen: "Stopped" in screen and screen.endswith(PROMPT))
        assert "TASK " not in screen and shell.has_cursor
        shell.type("echo between")
        shell.until(lambda screen: "\nbetween\n" in screen)
        shell.type("fg")
        screen = shell.until(full)
        assert "\nbetween\n" in screen
        shell.press("C-c")
        left = shell.until_prompt()
        assert "TASK " not in left and "tfrun: interrupted" in left
        assert "\nbetween\n" in left and shell.has_cursor


def test_ctrl_c_leaves_nothing_of_the_table_and_says_what_it_does(tmp_path, end):
    with terminal() as shell:
        shell.type(command(tmp_path, end))
        shell.until(full)
        shell.press("C-c")
        left = shell.until_prompt()
        assert "TASK " not in left and "━" not in left and left.count("^C") <= 1
        assert left.splitlines()[-2] == "tfrun: interrupted"
        assert shell.has_cursor


def test_a_launcher_that_was_killed_leaves_a_sane_terminal(tmp_path, end):
    with terminal() as shell:
        shell.type(f"{command(tmp_path, end)} & wait $!")  # in the background: no table
        shell.until(lambda screen: screen.count("step 80") == 3)  # the last word of each
        assert "TASK " not in shell.screen()
        shell.press("C-c")
        shell.until(lambda screen: screen.endswith(PROMPT))
        shell.type("clear; fg")
        shell.until(full)
        pid = int(next(iter(_launchers(program=tmp_path / "program.py"))))
        os.kill(pid, 9)
        screen = shell.until(lambda screen: screen.endswith(PROMPT))
        assert screen.splitlines()[-1] == PROMPT and shell.has_cursor


def _launchers(program):
    import psutil

    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "tfmesos" in words and str(program) in words:
            yield process.pid


@pytest.mark.parametrize("how", ["2>&1 | cat", "| cat", "with CI", "with TERM=dumb"])
def test_where_nobody_looks_or_others_write_there_are_plain_lines(tmp_path, end, how):
    end.touch()
    line = command(tmp_path, end, job="-w 1")
    before = {"with CI": "CI=1 ", "with TERM=dumb": "TERM=dumb "}.get(how, "")
    with terminal() as shell:
        shell.type(f"{before}{line} {'' if before else how}; echo E''ND")
        while "\nEND" not in (screen := shell.screen()):
            assert "TASK " not in screen
        left = shell.until_prompt()
        assert left.count("99/100") == 1 and "━" not in left


def test_with_output_in_a_file_the_table_is_alone_on_the_terminal(tmp_path, end):
    with terminal() as shell:
        shell.type(f"{command(tmp_path, end)} > {tmp_path}/out")
        screen = shell.until(full)
        assert "step" not in screen and "TASK " in screen
        end.touch()
        assert "TASK " not in shell.until_prompt()
    written = (tmp_path / "out").read_text()
    assert written.count("[worker:0] step 80\n") == 1 and "TASK" not in written


def test_a_pager_has_the_terminal_for_itself(tmp_path, end):
    end.touch()
    with terminal() as shell:
        shell.type(f"{command(tmp_path, end, job='-w 1')} 2> {tmp_path}/err | less")
        shell.until(lambda screen: "[worker:0] step 0" in screen and "(END)" in screen)
        shell.press("q")
        shell.until_prompt()


def test_escape_sequences_and_wide_characters_do_not_tear_the_table(tmp_path, end):
    evil = "\\x1b[2J\\x1b[5A\\x1b]0;title\\x07日本語e\\u0301 " * 5
    code = f"""
import os, sys, time
sys.stderr.write("\\rbegin")
sys.stderr.write("\\r{evil}50/100")
sys.stderr.flush()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
print()
"""
    with terminal(60) as shell:
        shell.type(command(tmp_path, end, code=code, job="-w 2"))
        screen = shell.until(lambda screen: screen.count("日本語e\u0301") >= 2)
        assert [row.split()[0] for row in table(screen)] == ["worker:0", "worker:1"]
        assert shlex.quote(str(tmp_path))[:10] in screen  # the command line is still there
        end.touch()
        assert "TASK " not in shell.until_prompt()


def test_a_task_that_failed_tells_why_in_its_row(tmp_path, end):
    code = """
import os, sys, time
if os.environ["TFMESOS_TASK_ID"].split("-")[-2] == "1":
    sys.exit(3)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
"""
    with terminal() as shell:
        flags = ("--success", "worker:0")
        shell.type(command(tmp_path, end, *flags, code=code, job="-w 2"))
        left = shell.until_prompt()
        assert "worker:1" in left and "exited with 3" in left and "TASK " not in left


def test_a_small_terminal_still_shows_what_failed_below_its_long_last_lines(tmp_path):
    code = "for n in range(20): print(str(n) * 150)\nraise SystemExit(3)"
    with terminal(80, 24) as shell:
        (tmp_path / "fail.py").write_text(code)
        shell.type(f"cd {tmp_path}; {TFRUN} -w 1 -- {sys.executable} fail.py")
        shell.until_prompt()
        seen = " ".join(shell.screen().split())
        assert "worker:0 exited with 3" in seen
        assert re.search(r"run (\w{4}); tfrun logs \1 worker:0 shows more", seen)
