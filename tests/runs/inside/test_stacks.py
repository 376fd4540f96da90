"""What tasks are doing is shown by place: those at the same one together."""

from __future__ import annotations

import pytest

from tfmesos.runs.inside.stacks import grouped, named

REDUCE = [["wait", "threading.py", 331, False], ["all_reduce", "train.py", 120, True]]
READ = [["read_data", "train.py", 7, True], ["<module>", "train.py", 9, True]]


def process(task, frames, *others):
    threads = [{"name": "", "is_main": True, "frames": frames}]
    more = [{"name": name, "is_main": False, "frames": READ} for name in others]
    return {"task": task, "pid": 1, "command": "python", "threads": [*more, *threads]}


def test_tasks_at_the_same_place_are_one_group_named_by_the_users_own_code():
    answers = [process("worker:0", READ), *(process(f"worker:{n}", REDUCE) for n in range(1, 8))]
    lines = grouped(answers, {"worker": 8, "ps": 2})
    assert lines == [
        "worker:1-7 of 8: all_reduce at train.py:120",
        "    wait at threading.py:331",
        "    all_reduce at train.py:120",
        "",
        "worker:0: read_data at train.py:7",
        "    read_data at train.py:7",
        "    <module> at train.py:9",
    ]


def test_frames_of_c_code_are_at_the_same_place_whatever_their_addresses():
    def answer(task, address):
        return process(task, [["read", "libc.so.6", 0, False], *READ, [address, "a.so", 0, False]])

    lines = grouped([answer("worker:0", "0x7f01"), answer("worker:1", "0x7e02")], {"worker": 2})
    assert lines[:2] == ["worker:0-1 of 2: read_data at train.py:7", "    read at libc.so.6"]


def test_other_threads_are_a_line_each():
    assert "    thread prefetch: read_data at train.py:7" in grouped(
        [process("worker:0", REDUCE, "prefetch")], {"worker": 1}
    )


def test_a_process_that_could_not_be_read_says_why_and_what_it_waits_for():
    answer = {"task": "ps:0", "pid": 3, "problem": "why", "state": "D (disk)", "waits": "nfs_wait"}
    assert grouped([answer], {"ps": 1}) == ["ps:0: why", "    D (disk), nfs_wait"]


@pytest.mark.parametrize(
    "problem, of_several",
    [
        ("has no Python process", "have no Python process"),
        ("is not running", "are not running"),
        ("sent a malformed answer", "sent a malformed answer"),
        ("did not answer in time", "did not answer in time"),
    ],
)
def test_a_problem_is_well_formed_of_one_task_and_of_several(problem, of_several):
    answers = [{"task": f"worker:{n}", "problem": problem} for n in range(2)]
    jobs = {"worker": 2}
    assert grouped(answers[:1], jobs) == [f"worker:0: {problem}"]
    assert grouped(answers, jobs) == [f"worker:0-1 of 2: {of_several}"]


def test_several_processes_of_one_task_are_not_several_tasks():
    answers = [{"task": "ps:0", "pid": n, "problem": "is stopped"} for n in range(2)]
    assert grouped(answers, {"ps": 1}) == ["ps:0 (2 processes): is stopped"]


def test_what_a_task_says_cannot_move_a_cursor():
    (line, *_) = grouped([process("worker:0", [["\x1b[2Jx", "a\rb.py", 1, True]])], {"worker": 1})
    assert "\x1b" not in line and "\r" not in line


@pytest.mark.parametrize(
    "tasks, words",
    [
        (["worker:0"], "worker:0"),
        (["worker:0", "worker:0"], "worker:0 (2 processes)"),
        (["worker:3", "worker:0", "worker:1"], "worker:0-1, worker:3 of 8"),
        (["ps:0", "worker:1"], "ps:0, worker:1"),
        (["ps:0", "worker:1", "worker:0"], "ps:0, worker:0-1 of 8"),
    ],
)
def test_tasks_are_named_by_their_ranges(tasks, words):
    assert named(tasks, {"ps": 2, "worker": 8}) == words
