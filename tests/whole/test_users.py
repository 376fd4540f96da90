"""Tasks of a standing Mesos, run as other users."""

import os

import pytest

from tests.commands import standing_mesos, tfrun


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run tasks as somebody else")
def test_a_standing_mesos_runs_a_task_as_the_user_that_was_named(open_place):
    show = 'id -un; cd "$MESOS_SANDBOX" && touch mine && ls -l mine | cut -d" " -f3'
    with standing_mesos("--work-dir", str(open_place)) as url:
        once = ("-m", url, "-w", 1, "--python", "/usr/bin/python3")
        named = tfrun(*once, "--user", "nobody", "--", show)
        ours = tfrun(*once, "--", "id -un")
        unknown = tfrun(*once, "--user", "nosuchuser", "--restarts", 0, "--", "true")
    assert (named.returncode, named.stdout) == (0, "[worker:0] nobody\n" * 2), named.stderr
    assert (ours.returncode, ours.stdout) == (0, "[worker:0] root\n"), ours.stderr
    assert unknown.returncode != 0 and "No such user 'nosuchuser'" in unknown.stderr
    modes = [s.stat().st_mode & 0o777 for s in open_place.glob("slaves/*/*/*/*/*/runs/*-*")]
    assert modes == [0o700, 0o700]
