"""The secret of a task, looked for wherever somebody could read it while the task runs."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
from contextlib import closing
from pathlib import Path

from tests.chaos.stage import python_wrapper
from tests.commands import finish, read_until, running_tfrun
from tfmesos.node import wire
from tfmesos.node.address import split_address
from tfmesos.node.handshake import NONCE_BYTES, RunnerHandshake

MASTER_PATHS = ["/state", "/tasks", "/frameworks", "/slaves", "/master/state"]
MASTER_CALLS = ["GET_STATE", "GET_TASKS", "GET_EXECUTORS", "GET_FRAMEWORKS", "GET_AGENTS"]
AGENT_PATHS = ["/state", "/slave(1)/state", "/containers", "/monitor/statistics"]
AGENT_CALLS = ["GET_TASKS", "GET_FRAMEWORKS", "GET_CONTAINERS"]
# GET_STATE and GET_EXECUTORS of a genuine agent are left out: those show the environment of a
# command. So the secret in it must not be worth anything by then.


def ask(address, path, call=None):
    """What is answered, if anything is."""
    host, _, port = address.removeprefix("http://").partition(":")
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    with closing(http.client.HTTPConnection(host, int(port))) as connection:
        body = json.dumps({"type": call}) if call else None
        connection.request("POST" if call else "GET", path, body, headers)
        return connection.getresponse().read().decode(errors="replace")


def told_by(master):
    """What a master and its agents tell of themselves."""
    told = [ask(master, path) for path in MASTER_PATHS]
    told += [ask(master, "/api/v1", call) for call in MASTER_CALLS]
    for agent in json.loads(ask(master, "/slaves"))["slaves"]:
        address = f"127.0.0.1:{agent['port']}"
        told += [ask(address, path) for path in AGENT_PATHS]
        told += [ask(address, "/api/v1", call) for call in AGENT_CALLS]
    return told


def process_listing():
    """What ps shows to everybody."""
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield place.read_bytes().decode(errors="replace")
        except OSError:
            pass  # ended meanwhile


def answer_at_the_door(settings, secret):
    """What the launcher says to somebody who knows all that the task was started with."""
    nonce = os.urandom(NONCE_BYTES)
    launcher, run, task, *_ = settings
    thief = RunnerHandshake(secret, run, task, nonce)
    address = split_address(launcher)
    with socket.create_connection(address) as connection:
        connection.sendall(wire.encode(thief.hello()))
        return connection.recv(4096)


def test_the_secret_is_neither_told_nor_listed_nor_kept_and_soon_worth_nothing(master, tmp_path):
    seen, go = tmp_path / "seen", tmp_path / "go"
    python = python_wrapper(tmp_path, f"""echo "$TFMESOS_SECRET $TFMESOS_RUNNER" > {seen}""")
    script = f"env; echo at $MESOS_SANDBOX; until [ -e {go} ]; do sleep 0.05; done"
    flags = ("-m", master, "-v", "--python", python, "-w", 1)
    with running_tfrun(*flags, "--", script) as run:
        lines = read_until(run.stdout, "[worker:0] at ")
        secret, _, settings = seen.read_text().strip().partition(" ")
        told, listed = told_by(master), list(process_listing())
        sandbox = Path(re.search(r"at (/\S+)", lines[-1])[1])
        kept = [p.read_bytes().decode(errors="replace") for p in sandbox.glob("*") if p.is_file()]
        answer = answer_at_the_door(settings.split(), bytes.fromhex(secret))
        go.touch()
        out, err = finish(run)
    assert run.returncode == 0 and re.fullmatch(r"[0-9a-f]{64}", secret)
    assert any("/job:worker/task:0" in text for text in told), "nothing was told of the task"
    assert any("tfmesos" in text for text in listed) and kept
    for text in [*told, *listed, *kept, *lines, out, err]:
        assert secret not in text
    assert answer == b""
