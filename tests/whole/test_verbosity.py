"""What -v tells."""

import re

from tests.commands import (
    tfrun,
)


def test_verbose_tells_the_story_of_a_run_with_times_in_a_screen():
    done = tfrun("-v", "-w", 2, "-s", 1, "--", "echo", "hi")
    assert all(re.match(r"tfrun: +\d+\.\d\d s  ", line) for line in done.stderr.splitlines())
    story = [line[18:] for line in done.stderr.splitlines()]
    order = ["launching ps:0, worker:0, worker:1 on ", r"\(3 of 3\)", "starting 3 tasks"]
    order += [r"worker:\d exited with 0 \(", "leaving this machine"]
    found = [next(n for n, line in enumerate(story) if re.search(what, line)) for what in order]
    assert found == sorted(found), done.stderr
    assert len([line for line in story if not line.startswith("waiting ")]) <= 20, done.stderr
    assert "event: " not in done.stderr


def test_very_verbose_tells_every_event():
    done = tfrun("-vv", "-w", 1, "--", "echo", "hi")
    assert re.search(r"\d s  event: TaskRegistered\(", done.stderr)
