"""A reader or the launcher pauses while tasks run on a cluster: these never wait for it."""

from __future__ import annotations

from tests.commands import finish, running_tfrun
from tests.whole.test_pauses import (
    LINES,
    left_out,
    numbers,
    stop_while_its_task_writes,
    wait_until,
    wait_until_nothing_moves,
    writer,
)


def test_a_reader_that_pauses_stalls_nobody_and_every_line_is_accounted_for(master, tmp_path):
    marker = tmp_path / "ended"
    with running_tfrun("-m", master, "-w", 1, "--", *writer(marker)) as run:
        wait_until(marker.exists)
        wait_until_nothing_moves(run.stdout, 16.0)  # its runner has given up by then
        out, err = finish(run)
    seen = numbers(out)
    assert run.returncode == 0, err
    assert seen == sorted(set(seen))
    assert len(seen) + left_out(err) == LINES, err


def test_a_stopped_launcher_fetches_what_it_missed_from_the_sandbox(master, tmp_path):
    """Its task ends meanwhile, and so does the runner, after a while."""
    code, seen, err = stop_while_its_task_writes(tmp_path, "-m", master)
    assert code == 0, err
    assert seen == sorted(set(seen)) and len(seen) + left_out(err) == 100_000, err
