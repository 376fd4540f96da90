"""Secrets on a node: in files of one user, in memory if there is some, and gone with the task."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import errno
import os
import shutil
import signal
import stat
from pathlib import Path

from tests.runners import Runner, environment, gone, launcher, runner, settings, the_exit
from tfmesos.config.secret import Secret, TaskSecrets
from tfmesos.core.events import TaskExited
from tfmesos.node.process.guard import _unfinished
from tfmesos.node.task import secret_files as of_node
from tfmesos.node.task.secret_files import CANNOT_WRITE, Secrets
from tfmesos.shared import held_directory

HUSH = "hush-59f0c4d1e7"
GIVEN = TaskSecrets(
    files={"token": Secret(base64.b64encode(HUSH.encode()).decode())},
    variables={"API_KEY": Secret(HUSH)},
    paths={"TOKEN_FILE": "token"},
    given_by="secrets",
)
SHOW = 'echo $TFMESOS_SECRETS_DIR; stat -c %a "$TFMESOS_SECRETS_DIR" "$TOKEN_FILE"; cat $TOKEN_FILE'


def run(sandbox, command, before="", **start):
    """The launcher and the exit code of a task with secrets."""

    async def main():
        async with launcher() as ours:
            env = environment(settings(ours.address, secrets=GIVEN))
            theirs = Runner(sandbox, env, before=before)
            try:
                ours.start(command, **start)
                await ours.saw(TaskExited)
                return ours, await theirs.exited()
            finally:
                theirs.close()

    return asyncio.run(main())


def test_a_secret_is_a_file_that_only_its_user_can_read_and_gone_after_the_task(tmp_path):
    ours, code = run(tmp_path, SHOW + "; echo")
    directory, *shown = ours.lines()
    assert (code, shown) == (0, ["700", "600", HUSH])
    assert directory.startswith("/dev/shm/tfmesos-secrets-") and not os.path.exists(directory)
    kept = [path.read_bytes() for path in tmp_path.iterdir() if path.is_file()]
    assert not [content for content in kept if b"API_KEY" in content]


def test_a_secret_variable_is_seen_by_the_command_alone(tmp_path):
    look = 'echo "$1 ${API_KEY:-none} ${TFMESOS_SECRETS_DIR:+files}"'
    steps = {name: look.replace("$1", name) for name in ("initializer", "finalizer")}
    ours, code = run(tmp_path, look.replace("$1", "command"), **steps)
    assert code == 0
    assert ours.lines() == [
        "initializer none files",
        f"command {HUSH} files",
        "finalizer none files",
    ]


def test_no_variable_of_the_user_or_the_launcher_leads_elsewhere(tmp_path):
    layers = {
        "env": {"TOKEN_FILE": "/of/launcher"},
        "user_env": {"TFMESOS_SECRETS_DIR": "/of/user"},
    }
    ours, _ = run(tmp_path, "echo $TOKEN_FILE $TFMESOS_SECRETS_DIR", **layers)
    file, directory = ours.lines()[0].split()
    assert file == f"{directory}/token" and directory.startswith("/dev/shm/")


def kill_runner(sandbox, *, and_guard):
    """Where the secrets of a task were whose runner was killed, once nobody is left of it."""

    async def main():
        async with launcher() as ours:
            with runner(sandbox, settings(ours.address, secrets=GIVEN)) as theirs:
                where = "$TFMESOS_SECRETS_DIR"
                ours.start(f"ls {where}; echo {where} $PPID; exec sleep 1000")
                await ours.until(lambda: len(ours.lines()) == 2)
                assert ours.lines()[0] == "token"
                directory, parent = ours.lines()[1].split()
                others = children(int(parent))
                for pid in others if and_guard else ():
                    os.kill(pid, signal.SIGSTOP)  # before it notices
                os.kill(int(parent), signal.SIGKILL)
                for pid in others if and_guard else ():
                    os.kill(pid, signal.SIGKILL)
                await asyncio.to_thread(lambda: [gone(pid) for pid in others])
                await theirs.exited()
                return directory

    return asyncio.run(main())


def children(parent):
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def test_the_guard_removes_the_secrets_of_a_runner_that_was_killed(tmp_path):
    assert not os.path.exists(kill_runner(tmp_path, and_guard=False))


def test_secrets_that_nobody_could_remove_go_when_the_next_task_of_the_user_comes(tmp_path):
    directory = kill_runner(tmp_path, and_guard=True)
    with contextlib.suppress(FileNotFoundError):  # a task of another test, of our user, came first
        assert set(os.listdir(directory)) <= {"token"}
    assert run(tmp_path, "true")[1] == 0
    assert not os.path.exists(directory)


def test_secrets_of_others_that_live_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(of_node, "_places", lambda sandbox: [sandbox])
    first, second = Secrets(GIVEN.reveal()), Secrets(GIVEN.reveal())
    told: list[str] = []
    assert first.keep(str(tmp_path), told.append) is None
    assert second.keep(str(tmp_path), told.append) is None
    assert len(told) == 2 and all(map(os.path.exists, told))
    first.remove()
    assert [os.path.exists(path) for path in told] == [False, True]
    second.remove()
    assert not list(tmp_path.iterdir())


def test_where_there_is_no_memory_to_write_to_the_sandbox_has_them(tmp_path, monkeypatch):
    monkeypatch.setattr(of_node, "MEMORY", str(tmp_path / "none"))
    kept = Secrets(GIVEN.reveal())
    assert kept.keep(str(tmp_path), lambda place: None) is None
    (directory,) = tmp_path.iterdir()
    assert stat.S_IMODE((directory / "token").stat().st_mode) == 0o600
    assert kept.environment == {
        "TFMESOS_SECRETS_DIR": str(directory),
        "TOKEN_FILE": f"{directory}/token",
    }
    kept.remove()
    assert not directory.exists()


def test_a_limit_of_processes_is_named_and_no_directory_blamed(tmp_path):
    def refuse(place):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    code, reason = Secrets(GIVEN.reveal()).keep(str(tmp_path), refuse)
    assert code == 126 and "no more processes are allowed" in reason


def test_a_node_that_takes_no_file_is_one_line_with_exit_code_74_and_nothing_starts(tmp_path):
    before = set(os.listdir("/dev/shm"))
    ours, code = run(tmp_path, ["touch", "started"], before="ulimit -f 0;")
    assert code == CANNOT_WRITE == 74
    expected = f"could not store its secrets in {tmp_path}: File too large"
    assert the_exit(ours) == (74, expected)
    assert not (tmp_path / "started").exists()
    left = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    left |= {name for name in set(os.listdir("/dev/shm")) - before if is_dead(f"/dev/shm/{name}")}
    assert left == set()


def is_dead(path):
    """A directory of secrets that nobody holds; other tests may have some of their own."""
    held_directory.remove_unless_held(path)
    return "tfmesos-secrets-" in path and not os.path.exists(path)


def test_a_directory_that_was_swept_away_before_it_was_locked_is_made_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(of_node, "_places", lambda sandbox: [sandbox])
    hold, swept = held_directory.hold, []

    def too_late(path):
        if not swept:
            swept.append(path)
            shutil.rmtree(path)
        return hold(path)

    monkeypatch.setattr(held_directory, "hold", too_late)
    kept = Secrets(GIVEN.reveal())
    assert kept.keep(str(tmp_path), lambda place: None) is None
    assert len(swept) == 1 and len(list(tmp_path.iterdir())) == 1
    kept.remove()


def test_a_guard_knows_sessions_from_directories():
    news = ["12\n", "/dev/shm/tfmesos-secrets-1\n", "13\n", "-12\n"]
    assert _unfinished(news) == ({13}, ["/dev/shm/tfmesos-secrets-1"])
