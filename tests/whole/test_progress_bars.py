"""The progress bar of a task is in the record while it moves, also without a terminal."""

from __future__ import annotations

import sys

from tests.commands import finish, running_tfrun
from tests.node.process.test_progress_bar_sender import BAR
from tfmesos.runs.live_status import LiveStatus
from tfmesos.runs.page.views import whole
from tfmesos.runs.run_directories import Store


def test_a_progress_bar_is_on_the_page_without_a_terminal_and_leaves_no_file(
    recorded_runs, tmp_path
):
    end = tmp_path / "end"
    with running_tfrun("-w", "1", "--", sys.executable, "-c", BAR, end, "0") as process:
        while (bar := bar_of(recorded_runs)) != {"part": 1.0, "words": "100/100"}:
            assert process.poll() is None, bar
        end.touch()
        finish(process)
    assert process.returncode == 0 and bar_of(recorded_runs) is None
    (directory,) = recorded_runs.glob("tfmesos/runs/*")
    assert not list(directory.glob("progress*"))


def bar_of(place):
    for run in Store(place / "tfmesos" / "runs").all():
        for task in whole(LiveStatus(run), 0.0)["all"]:
            return task["bar"]
    return None
