"""Settings that tfrun refuses with one line, before it asks anybody for anything."""

import pytest

from tests.commands import tfrun
from tests.engines.mesos.api.test_auth import SECRET_FLAGS
from tests.sentences import names


@pytest.mark.parametrize("field", SECRET_FLAGS)
def test_tfrun_ends_with_2_and_one_line_for_a_secret_with_a_control_character(tmp_path, field):
    file = tmp_path / "secret"
    file.write_bytes(b"hu\x07sh")
    done = tfrun("-m", "127.0.0.1:1", "-w", 1, *SECRET_FLAGS[field], file, "--", "true")
    assert done.returncode == 2
    assert names(done.stderr, f"tfrun: {SECRET_FLAGS[field][-1]} ", "one line", str(file))


def test_tfrun_refuses_too_many_variables_and_names_the_flag():
    flags = [word for number in range(17) for word in ("--env", f"V{number}={'x' * 65000}")]
    done = tfrun("-w", 1, *flags, "--", "true")
    assert done.returncode == 2
    assert names(done.stderr, "tfrun: --env", "1,105,075 bytes", "1,048,576", "into a file")


def test_more_tasks_than_this_machine_has_memory_for_are_refused_before_any_starts():
    done = tfrun("-w", 1_000_000, "--", "true")
    assert (done.returncode, done.stderr.count("\n")) == (75, 1)
    assert names(done.stderr, "1,000,000 tasks", "6,000,000 MiB")


def test_a_task_larger_than_this_machine_runs_and_that_is_said():
    done = tfrun("-w", 1, "-Cw", 100_000, "--", "echo", "up")
    assert (done.returncode, done.stdout) == (0, "[worker:0] up\n")
    (said, *_) = done.stderr.splitlines()
    assert names(said, "tfrun: ", "more than this machine has", "cpus 100000")
