"""The embedded Mesos of a run, to anybody else on this machine."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request

import pytest

from tests.commands import finish, read_until, running_tfrun

CALL = {"type": "SUBSCRIBE", "subscribe": {"framework_info": {"user": "root", "name": "x"}}}


def ask(url, body=None):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, body and json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.fixture
def master(tmp_path):
    """The address of the embedded Mesos of a run that goes on until the test is over."""
    go = tmp_path / "go"
    wait = f"until [ -e {go} ]; do sleep 0.05; done"
    with running_tfrun("-v", "-w", 1, "--", wait) as run:
        (line,) = [x for x in read_until(run.stderr, "subscribed to") if "subscribed to" in x]
        yield re.search(r"http://\S+", line)[0]
        go.touch()
        finish(run)
        assert run.returncode == 0


def test_without_its_credential_nobody_gets_anything_of_it(master):
    assert ask(f"{master}/api/v1/scheduler", CALL) == 401
    assert [ask(f"{master}/{path}") for path in ("state", "slaves", "files/browse?path=/")] == [
        401
    ] * 3
