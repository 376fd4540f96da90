"""examples/elastic.py on any engine: its workers become four and then one while it trains."""

from __future__ import annotations

import re

from tests.commands import tfrun, wait_for_output


def assert_no_step_is_lost(*words, program, **options):
    """*words* are the flags of the run, *program* is how its tasks start the example.

    Each generation goes on from the step that the one before wrote, and the last one has learnt
    to read digits.
    """
    flags = (*words, "-w", 2, "--stop-grace", "2m", "--restarts", 0)
    begun = tfrun("--detach", *flags, "--", *program, "--steps", 10**9, **options)
    assert begun.returncode == 0, begun.stderr
    run_id = begun.stdout.strip()
    try:
        wait_for_output(run_id, "step 300:")
        update(run_id, "-w", 4)
        wait_for_output(run_id, "generation 1: from step")
        shown = written(run_id)[0] // 50 * 50 + 50
        wait_for_output(run_id, f"step {shown}:")
        update(run_id, "-w", 1, "--", *program, "--steps", shown + 500)
        ended = tfrun("wait", run_id)
        assert ended.returncode == 0, ended.stderr
    finally:
        tfrun("stop", run_id)
    output = tfrun("logs", run_id).stdout
    resumed = re.findall(r"generation (\d): from step (\d+) with (\d) workers", output)
    steps = written(run_id)
    assert [(number, size) for number, _, size in resumed] == [("0", "2"), ("1", "4"), ("2", "1")]
    assert [0, *steps[:2]] == [int(step) for _, step, _ in resumed]
    # The four may have got as far as that before they were told: the machine is busy.
    assert 300 <= steps[0] < shown <= steps[1] <= steps[2] == max(shown + 500, steps[1])
    assert float(re.search(r"test accuracy: (\S+)", output)[1]) >= 0.9


def update(run_id, *words):
    done = tfrun("update", run_id, *words)
    assert done.returncode == 0, done.stderr


def written(run_id):
    """The steps at which a checkpoint was written, in their order."""
    return [int(step) for step in re.findall(r"wrote step (\d+)", tfrun("logs", run_id).stdout)]
