"""Exit codes and the words for ends, the same wherever a task ran."""

from __future__ import annotations

import signal

import pytest

from tfmesos.shared import exit_status


@pytest.mark.parametrize("number", list(signal.Signals))
def test_a_signal_has_the_name_that_linux_gives_it(number):
    words = f"was killed by {number.name} (signal {number:d})"
    assert exit_status.is_signal(number) and exit_status.killed_by(number) == words


def test_a_number_that_is_no_named_signal_is_shown_as_it_is():
    assert not exit_status.is_signal(40)
    assert exit_status.killed_by(40) == "was killed by a signal (signal 40)"


def test_the_codes_of_kills_are_those_of_a_shell():
    assert exit_status.KILLED == 128 + signal.SIGKILL
    assert exit_status.TERMINATED == 128 + signal.SIGTERM
