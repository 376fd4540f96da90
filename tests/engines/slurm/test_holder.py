"""A launcher that was stopped learns from the comment of its job who holds the run now."""

from __future__ import annotations

import asyncio

import pytest

from tfmesos.engines.slurm.api.commands import Answer
from tfmesos.engines.slurm.holder import Holding, holder_in, mark_in

LATER = "tfmesos tfmesos-ab12 1 3 login-2 (pid 8)"


class Updated:
    """Commands of a Slurm that has this job, and takes new comments."""

    def __init__(self, comment):
        self._comment = comment
        self.comments = {}

    async def run(self, name, *words, given="", within=0.0):
        if name == "squeue":
            return Answer(0, f"7|{self._comment}\n", "")
        _, job, comment = words
        self.comments[job.removeprefix("JobId=")] = comment.removeprefix("Comment=")
        return Answer(0, "", "")


def looked(epoch, comment, *, now=None):
    """Is the run ours, why not, and the comments that were written; it may be another one *now*."""
    commands, why = Updated(now or comment), []
    is_ours = asyncio.run(Holding(commands, epoch, why.append).look({"7": comment}))
    return is_ours, why, commands.comments


@pytest.mark.parametrize(
    "comment, expected",
    [
        ("tfmesos tfmesos-ab12 1", (1, "")),
        ("tfmesos tfmesos-ab12 1;worker:0-1 3 it failed", (1, "")),
        (LATER, (3, "login-2 (pid 8)")),
        (f"{LATER};go", (3, "login-2 (pid 8)")),
        ("a comment of somebody else altogether", (1, "")),
        ("", (1, "")),
    ],
)
def test_the_holder_of_a_run_is_read_from_the_comment_of_its_job(comment, expected):
    assert holder_in(comment) == expected


def test_a_job_is_known_by_its_mark_whoever_holds_it():
    assert mark_in(f"{LATER};go") == mark_in("tfmesos tfmesos-ab12 1") == "tfmesos tfmesos-ab12 1"


@pytest.mark.parametrize("epoch", [1, 2, 3])
def test_who_is_not_the_latest_launcher_gives_the_run_away_and_names_who_is(epoch):
    """Two that adopted different copies of a run have the same number."""
    is_ours, (why,), written = looked(epoch, LATER)
    assert (is_ours, written) == (False, {}) and "login-2 (pid 8)" in why


def test_a_launcher_that_has_taken_a_run_over_says_so_and_keeps_the_notes():
    is_ours, why, written = looked(2, "tfmesos tfmesos-ab12 1;worker:0-1 3 it failed")
    assert (is_ours, why) == (True, [])
    assert holder_in(written["7"])[0] == 2
    assert written["7"].endswith(";worker:0-1 3 it failed")
    assert looked(2, written["7"]) == (True, [], {})


def test_the_first_launcher_of_a_run_writes_nothing():
    assert looked(1, "tfmesos tfmesos-ab12 1;go") == (True, [], {})


def test_what_was_added_to_a_comment_since_it_was_listed_is_kept():
    mark = "tfmesos tfmesos-ab12 1"
    _, _, written = looked(2, mark, now=f"{mark};go")
    assert written["7"].endswith(";go") and holder_in(written["7"])[0] == 2
    assert looked(2, mark, now=LATER)[2] == {}
