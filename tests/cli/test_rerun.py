"""A run is started again from its recorded command line, with what is changed of it."""

import pytest

from tfmesos.cli.rerun import CannotRerun, joined, rerun_arguments
from tfmesos.command_line import Answer


@pytest.mark.parametrize(
    ("old", "new", "whole"),
    [
        (["-w", "2", "--", "a", "-w"], [], ["-w", "2", "--", "a", "-w"]),
        (["-w", "2", "a", "--b"], ["-w", "4"], ["-w", "2", "-w", "4", "--", "a", "--b"]),
        (["--detach", "-w", "1", "--", "a"], [], ["-w", "1", "--", "a"]),
        (["-w", "1", "--", "a"], ["--detach"], ["-w", "1", "--detach", "--", "a"]),
        (["-w", "1", "--", "a"], ["--", "b", "c"], ["-w", "1", "--", "b", "c"]),
        (["j.yaml", "-w", "1"], ["-w", "3"], ["--job-file", "j.yaml", "-w", "1", "-w", "3", "--"]),
        (["j.yaml"], ["k.yaml"], ["--job-file", "j.yaml", "--job-file", "k.yaml", "--"]),
    ],
)
def test_what_is_given_now_wins_over_what_was_given_then(old, new, whole):
    assert joined(old, new) == whole


@pytest.mark.parametrize(
    ("old", "words"),
    [
        (["--job-file", "-"], "its job file .* standard input"),
        (["-m", "zk://***@h/mesos", "-w", "1", "--", "a"], "its master has a password"),
    ],
)
def test_what_is_not_kept_has_to_be_given_again(old, words):
    with pytest.raises(CannotRerun, match=words):
        joined(old, ["-v"])
    joined(old, ["--job-file", "job.yaml", "-m", "h"])


def test_a_rerun_needs_an_id():
    with pytest.raises(CannotRerun, match=r"id of a run: tfrun rerun ID"):
        rerun_arguments(["-w", "2"])


def test_the_help_of_rerun_is_an_answer():
    with pytest.raises(Answer, match="usage: tfrun rerun ID"):
        rerun_arguments(["--help"])
