"""What may come next on a command line follows from the tables and from what there is."""

from __future__ import annotations

import pytest

from tfmesos.cli.arguments import FLAGS
from tfmesos.cli.commands.names import NAMES, TAKING_FLAGS
from tfmesos.cli.completion import Candidate, candidates, shown, split


class Known:
    def runs(self):
        return [Candidate("k7xq", "running: python train.py"), Candidate("k2ab")]

    def tasks(self, run_id):
        return [Candidate(f"{job}:0") for job in ("worker", "ps")] if run_id == "k7xq" else []

    def profiles(self):
        return [Candidate("gpu"), Candidate("cpu")]


def texts(line):
    return [one.text for one in candidates(split(f"tfrun {line}"), Known())]


def test_the_first_word_is_a_command_or_a_flag():
    assert {*NAMES, *TAKING_FLAGS} == set(texts(""))
    assert texts("stat") == ["status"]
    long = {one for flag in FLAGS for one in flag.flags if "--" in one and "_" not in one}
    assert set(texts("--")) == {*long, "--help", "--version"}
    assert texts("--rest") == ["--restarts", "--restart-policy"]


@pytest.mark.parametrize(
    "line, found",
    [
        ("-w 2 --restart-policy ", ["never", "task", "all"]),
        ("-w 2 --restart-policy t", ["task"]),
        ("--dry-run=t", ["--dry-run=tfjob"]),
        ("--profile ", ["gpu", "cpu"]),
        ("config --profile g", ["gpu"]),
        ("job.yaml --profile g", ["gpu"]),
        ("-m l", ["local"]),
        ("-w ", []),  # a number, which nobody can guess
        ("--detach --restart-p", ["--restart-policy"]),
        ("-w 2 -- python --", []),  # a flag of the command
        ("-w 2 python --rest", []),
    ],
)
def test_a_flag_of_a_run_is_followed_by_its_words(line, found):
    assert texts(line) == found


@pytest.mark.parametrize(
    "line, found",
    [
        ("status ", ["k7xq", "k2ab"]),
        ("describe k7", ["k7xq"]),
        ("rerun k2", ["k2ab"]),
        ("rerun k2ab --rest", ["--restarts", "--restart-policy"]),
        ("logs k7xq w", ["worker:0"]),
        ("logs --tail 5 k7xq ps:", ["ps:0"]),
        ("logs k2ab ", []),
        ("restart k7xq ", ["worker:0", "ps:0"]),
        ("stop --no-w", ["--no-wait"]),
        ("logs --tail ", []),
        ("completion ", ["bash", "zsh", "fish"]),
    ],
)
def test_a_command_is_followed_by_runs_tasks_and_its_flags(line, found):
    assert texts(line) == found


def test_an_open_quote_is_no_obstacle():
    assert texts("--env 'A=b c' -w 2 --restart-policy n") == ["never"]
    assert split("tfrun --env 'A") == ["--env", "'A"]


def test_each_shell_reads_its_own_form():
    found = [Candidate("worker:0", "a\ntask")]
    assert shown(found, "bash", "worker:", " =:") == "0\n"
    assert shown(found, "bash", "wor", " =:") == "worker:0\n"
    assert shown([Candidate("--dry-run=yaml")], "bash", "--dry-run=y", " =:") == "yaml\n"
    assert shown([Candidate("--dry-run=yaml")], "bash", "--dry-run=y", " ") == "--dry-run=yaml\n"
    assert shown(found, "zsh", "", "") == "worker\\:0:a task\n"
    assert shown(found, "fish", "", "") == "worker:0\ta task\n"
