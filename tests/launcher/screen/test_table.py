"""The table of the live display fits its terminal, whatever is in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tfmesos.launcher.screen.live_area import LiveArea, rewrite
from tfmesos.launcher.screen.progress_bar import ProgressBar
from tfmesos.launcher.screen.rows import Row
from tfmesos.launcher.screen.table import Table
from tfmesos.sanitize import cell, columns_of, plain

BAR = ProgressBar(0.5, "50% 50/100 [00:10<00:10, 5.00it/s]")


def row(name="worker:0", **more):
    given = {"state": "running", "node": "node1.example.org", "time": "0:01:05", "cpu": "187 %"}
    return Row(name, **{**given, "memory": "1.5 GB", **more})


def test_a_wide_terminal_shows_all_that_is_known():
    rows = (row(bar=BAR, gpu="80 %", restarts="1"), row("ps:0", cpu="3 %", memory="70 MB"))
    assert Table(rows).lines(140, 24) == [
        "TASK      STATE    NODE                  TIME  RESTARTS    CPU  MEMORY   GPU  PROGRESS",
        "worker:0  running  node1.example.org  0:01:05         1  187 %  1.5 GB  80 %"
        "  ━━━━━───── 50% 50/100 [00:10<00:10, 5.00it/s]",
        "ps:0      running  node1.example.org  0:01:05              3 %   70 MB",
    ]


def test_a_column_that_nobody_fills_is_left_out():
    header = Table((Row("worker:0", "starting"),)).lines(100, 24)[0]
    assert header == "TASK      STATE"


def test_on_a_narrow_terminal_columns_give_way_to_the_progress():
    assert Table((row(bar=BAR),)).lines(40, 24) == [
        "TASK      STATE    PROGRESS",
        "worker:0  running  ━━━─── 50% 50/100 […",
    ]
    assert Table((row(),)).lines(40, 24) == [
        "TASK      STATE      CPU  MEMORY",
        "worker:0  running  187 %  1.5 GB",
    ]


def test_a_long_reason_is_cut_and_stays_one_line():
    (_, line) = Table((row(state="failed", remark="exited with 1: " + "long " * 99),)).lines(60, 24)
    assert line.startswith("worker:0  failed  ") and line.endswith("…") and columns_of(line) <= 59


def test_more_tasks_than_fit_are_shown_as_jobs():
    tasks, jobs = tuple(row(f"worker:{n}") for n in range(30)), (row("worker x 30"),)
    table = Table(tasks, jobs)
    assert [line.split("  ")[0] for line in table.lines(80, 24)] == ["TASK", "worker x 30"]
    assert len(table.lines(80, 60)) == 31
    assert table.lines(80, 2) == []
    assert Table(tasks, jobs, "waiting").lines(80, 2) == ["waiting"]


def test_two_thirds_of_the_terminal_are_the_most():
    tasks = tuple(row(f"worker:{n}") for n in range(15))
    assert len(Table(tasks, (), "").lines(80, 24)) == 16
    assert Table(tasks, (), "waiting").lines(80, 24) == ["waiting"]


def test_the_status_stands_below_and_is_cut():
    assert Table((), (), "waiting for 3 cpus").lines(12, 24) == ["waiting for"]


def test_states_are_coloured_where_colours_are_wanted():
    lines = Table((row(), row("ps:0", state="failed"))).lines(80, 24, colour=True)
    assert "\x1b[32mrunning\x1b[0m" in lines[1] and "\x1b[31mfailed \x1b[0m" in lines[2]
    assert [plain(line) for line in lines] == Table((row(), row("ps:0", state="failed"))).lines(
        80, 24
    )


texts = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from("日e\u0301\x1b[2J\r\n\t\u202e█")),
    max_size=40,
)


@given(
    st.lists(st.tuples(texts, texts, texts, texts), min_size=1, max_size=4),
    st.integers(1, 130),
    st.integers(1, 50),
    st.booleans(),
)
def test_no_text_makes_a_line_wider_than_the_terminal_or_two_of_it(rows, columns, height, colour):
    made = tuple(
        Row(name, "running", node=node, cpu="1 %", remark=remark, bar=ProgressBar(0.5, words))
        for name, node, remark, words in rows
    )
    lines = Table(made, made[:1], rows[0][0]).lines(columns, height, colour)
    assert len(lines) <= max(height * 2 // 3, 1)
    for line in lines:
        shown = plain(line)
        assert columns_of(shown) < columns or not shown
        assert shown == plain(shown) and "\n" not in line and "\r" not in line


@given(texts, st.integers(0, 30), st.booleans())
def test_a_cell_is_exactly_as_wide_as_it_should_be(text, width, right):
    assert columns_of(cell(plain(text), width, right=right)) == width


# What is drawn is replaced in place:


class Terminal:
    def __init__(self, columns=80, rows=24):
        self.size, self.text, self.may_draw = (columns, rows), "", True
        self.area = LiveArea(self.write, False, lambda: self.size, lambda: self.may_draw)

    def write(self, text):
        self.text += text

    def draw(self, live):
        self.text = ""
        self.area.draw(live)
        return self.text


def test_lines_are_replaced_by_others_and_what_is_left_is_cleared():
    assert rewrite([], ["a", "b"], 80) == "\r\x1b[2Ka\n\x1b[2Kb\n\x1b[J"
    assert rewrite(["a", "b"], ["c"], 80) == "\r\x1b[2A\x1b[2Kc\n\x1b[J"
    assert rewrite(["a", "b"], [], 80) == "\r\x1b[2A\x1b[J"


def test_lines_that_a_smaller_terminal_has_broken_are_all_taken_away():
    assert rewrite(["x" * 100, "\x1b[2m" + "日" * 30 + "\x1b[0m", ""], [], 40) == "\r\x1b[6A\x1b[J"


def test_a_line_that_may_be_wider_than_we_know_is_cut_by_the_terminal():
    assert rewrite([], ["\u2764\ufe0f"], 80) == "\r\x1b[?7l\x1b[2K\u2764\ufe0f\n\x1b[?7h\x1b[J"


def test_what_has_not_changed_is_not_drawn_again():
    terminal = Terminal()
    assert terminal.draw(Table(status="waiting"))
    assert not terminal.draw(Table(status="waiting"))
    terminal.size = (4, 24)
    assert terminal.draw(Table(status="waiting")) == "\r\x1b[2A\x1b[2Kwai\n\x1b[J"


def test_in_the_background_nothing_is_drawn():
    terminal = Terminal()
    terminal.may_draw = False
    assert not terminal.draw(Table(status="waiting"))
    terminal.may_draw = True
    assert terminal.draw(Table(status="waiting"))


class FaultyTable:
    def lines(self, columns, rows, colour=False):
        return [][0]


def test_a_table_that_cannot_be_drawn_is_left_out():
    terminal = Terminal()
    terminal.draw(Table(status="waiting"))
    assert terminal.draw(FaultyTable()) == "\r\x1b[1A\x1b[J"
    assert not terminal.draw(FaultyTable())
