"""The port of a task: held for it, wished for or insisted on."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from tests.ports import free_port
from tests.sentences import names
from tfmesos.node.task.port import Port


@pytest.fixture
def wanted():
    return free_port()


def test_any_free_port_is_held_for_a_program_that_sets_reuseaddr():
    with closing(Port(socket.AF_INET)) as port, socket.socket() as program:
        with pytest.raises(OSError):
            program.bind(("", port.number))
        program.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        program.bind(("", port.number))


def test_a_wanted_port_is_had(wanted):
    with closing(Port(socket.AF_INET, wanted)) as port:
        assert (port.number, port.remark) == (wanted, "")


def test_of_two_that_wish_for_one_port_the_second_has_another_and_says_so(wanted):
    with (
        closing(Port(socket.AF_INET, wanted, is_wish=True)) as first,
        closing(Port(socket.AF_INET, wanted, is_wish=True)) as second,
    ):
        assert first.number == wanted != second.number
        parts = (f"port {wanted}", "Address already in use", f"using {second.number} instead")
        assert names(second.remark, *parts)


def test_of_two_that_insist_on_one_port_the_second_is_refused(wanted):
    with closing(Port(socket.AF_INET, wanted)), pytest.raises(OSError):
        Port(socket.AF_INET, wanted)
    Port(socket.AF_INET, wanted).close()  # nothing is left of the first


def test_a_port_of_another_program_is_not_had(wanted):
    with socket.create_server(("", wanted)), pytest.raises(OSError):
        Port(socket.AF_INET, wanted)


def test_a_released_port_is_for_a_program_that_sets_nothing_and_for_no_other_runner(wanted):
    with closing(Port(socket.AF_INET, wanted)) as port:
        port.release()
        with pytest.raises(OSError):
            Port(socket.AF_INET, wanted)
        with socket.socket() as program:
            program.bind(("", wanted))
