"""The fields of a runner's reports are what they should be, or refused."""

from __future__ import annotations

import pytest

from tests.shared.test_fields import refusal
from tfmesos.launcher.links.report_fields import address, ending, lines


@pytest.mark.parametrize("code", [0, 1, 255])
def test_an_exit_code_is_taken_as_it_is(code):
    assert ending({"code": code, "reason": "done"}) == (code, "done")


@pytest.mark.parametrize("code", [-1, 256, 10**30])
def test_a_code_that_no_process_can_have_is_a_failure(code):
    words = f"done (not an exit code: {str(code)[:20]})"
    assert ending({"code": code, "reason": "done"}) == (1, words)


@pytest.mark.parametrize("host", ["node-1.example", "10.0.0.1", "fe80::1%eth0", "A_b"])
@pytest.mark.parametrize("port", [0, 65535])
def test_an_address_is_a_host_and_a_port(host, port):
    assert address({"host": host, "port": port}) == (host, port)


@pytest.mark.parametrize("host", ["", "a b", "a;b", "$(x)", "é", "a\n", "a/b"])
def test_a_host_with_tricks_is_refused(host):
    message = {"type": "register", "host": host, "port": 1}
    assert refusal(address, message) == "'register' without a proper 'host'"


def test_a_port_that_is_none_is_refused():
    message = {"type": "register", "host": "h", "port": 65536}
    assert refusal(address, message) == "'register' with an invalid port"
    assert refusal(address, {**message, "port": -1}) == "'register' with a negative 'port'"


def test_lines_are_a_list_of_text():
    assert lines({"l": ["a", ""]}, "l") == ["a", ""]


def test_lines_that_are_none_are_named():
    assert refusal(lines, {"type": "exit", "tail": [1]}, "tail") == (
        "'exit' with 'tail' that are not text"
    )
    assert refusal(lines, {"type": "exit"}, "tail") == "'exit' without a proper 'tail'"
