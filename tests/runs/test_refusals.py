"""Settings that tfrun refuses with one line, before it asks anybody for anything."""

import pytest

from tests.commands import tfrun
from tests.mesos.test_auth import SECRET_FLAGS


@pytest.mark.parametrize("field", SECRET_FLAGS)
def test_tfrun_ends_with_2_and_one_line_for_a_secret_with_a_control_character(tmp_path, field):
    file = tmp_path / "secret"
    file.write_bytes(b"hu\x07sh")
    done = tfrun("-m", "127.0.0.1:1", "-w", 1, *SECRET_FLAGS[field], file, "--", "true")
    assert (done.returncode, done.stderr) == (
        2,
        f"tfrun: {SECRET_FLAGS[field][-1]} must hold one line of text: {file}\n",
    )


def test_tfrun_refuses_too_many_variables_and_names_the_flag():
    flags = [word for number in range(17) for word in ("--env", f"V{number}={'x' * 65000}")]
    done = tfrun("-w", 1, *flags, "--", "true")
    assert done.returncode == 2
    assert done.stderr == (
        "tfrun: --env has 1,105,075 bytes in all; at most 1,048,576 are passed on:"
        " put them into a file\n"
    )
