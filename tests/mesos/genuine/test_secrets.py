"""The secret of a task, looked for wherever somebody could read it while the task runs."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import socket
from contextlib import closing
from pathlib import Path

from tests.chaos.stage import python_wrapper
from tests.commands import finish, read_until, running_tfrun, tfrun
from tfmesos.shared import wire
from tfmesos.shared.address import split_address
from tfmesos.shared.handshake import NONCE_BYTES, RunnerHandshake

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


def told_to_operators(master):
    """What only those are told who may see environments."""
    told = []
    for agent in json.loads(ask(master, "/slaves"))["slaves"]:
        address = f"127.0.0.1:{agent['port']}"
        told += [ask(address, "/api/v1", call) for call in ("GET_STATE", "GET_EXECUTORS")]
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
    recorded = [path.read_text() for path in recorded_files()]
    assert any("worker" in text for text in recorded), "nothing was recorded"
    for text in [*told, *listed, *kept, *lines, out, err, *recorded]:
        assert secret not in text
    assert answer == b""


HUSH = "hush-59f0c4d1e7"
SHOWN = "only-the-node-sees-82c1"  # the value of --env, which is on our own command line


def recorded_files():
    return [path for path in Path(os.environ["XDG_STATE_HOME"]).rglob("*") if path.is_file()]


def forms(word):
    """How a word could be written down."""
    shifted = (base64.b64encode(bytes(shift) + word.encode())[4:-4].decode() for shift in range(3))
    return [word, *shifted]


def test_what_a_user_brings_to_the_tasks_is_neither_told_nor_listed_nor_kept(master, tmp_path):
    token, go = tmp_path / "token", tmp_path / "go"
    token.write_text(HUSH)
    token.chmod(0o600)
    script = (
        '[ "$(cat $TFMESOS_SECRETS_DIR/token)$KEY" = "$(cat $TOKEN)$(cat $TOKEN)" ] && echo right; '
        '[ -n "$SHOWN" ] && echo at $MESOS_SANDBOX $TFMESOS_SECRETS_DIR; '
        f"until [ -e {go} ]; do sleep 0.05; done"
    )
    flags = (
        "-m",
        master,
        "-vv",
        "--link-tls",
        "--env",
        f"SHOWN={SHOWN}",
        "--env",
        f"TOKEN={token}",
    )
    secret = ("--secret", f"token={token}", "--secret-env", f"KEY={token}")
    dry = tfrun(*flags, *secret, "--dry-run=mesos", "-w", 1, "--", script)
    with running_tfrun(*flags, *secret, "-w", 1, "--", script) as run:
        lines = read_until(run.stdout, "[worker:0] right", "[worker:0] at ")
        told, listed = told_by(master) + told_to_operators(master), list(process_listing())
        sandbox, place = map(Path, re.search(r"at (/\S+) (/\S+)", lines[-1]).groups())
        kept = [p.read_bytes().decode(errors="replace") for p in sandbox.glob("*") if p.is_file()]
        go.touch()
        out, err = finish(run)
    assert run.returncode == 0 and not place.exists()
    assert any("/job:worker/task:0" in text for text in told), "nothing was told of the task"
    assert any("SHOWN=***" in text for text in told), "the default name was not told"
    recorded = [path.read_text() for path in recorded_files()]
    assert any("worker" in text for text in recorded), "nothing was recorded"
    assert not [text for text in recorded for form in forms(HUSH) if form in text]
    for text in [*told, *kept, *lines, out, err, dry.stdout, dry.stderr]:
        assert not [form for form in (*forms(HUSH), *forms(SHOWN)) if form in text]
    assert not [text for text in listed for form in forms(HUSH) if form in text]
