"""A task has a directory of its own that it can write to, wherever its engine starts it."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import pytest

from tests.packs import packed, write
from tests.runners import launcher, runner, settings, the_exit
from tfmesos.core.events import TaskExited, TaskRegistered
from tfmesos.errors import PORT_TAKEN
from tfmesos.node.task import workspace
from tfmesos.node.task.port import NOT_PERMITTED, refusal
from tfmesos.node.task.workspace import NO_WORKSPACE, SHIP_DIR, TASK_DIR, Workspace


class Settings:
    def __init__(self):
        self.env = {}
        self.has_directory = True


class Guard:
    def __init__(self):
        self.directories = []

    def remove_later(self, directory):
        self.directories.append(directory)


@pytest.fixture
def guard():
    return Guard()


@pytest.fixture
def opened(monkeypatch, guard):
    """Gives the workspace of a task with these variables, and its settings."""
    settings = Settings()
    made = Workspace(settings, lambda: guard)

    def opened(sandbox, tmpdir=None, others=(), is_own=True):
        settings.has_directory = is_own
        monkeypatch.setenv("MESOS_SANDBOX", str(sandbox))
        monkeypatch.delenv("TMPDIR", raising=False)
        if tmpdir is not None:
            monkeypatch.setenv("TMPDIR", str(tmpdir))
        monkeypatch.setattr(workspace, "_TEMPORARY", tuple(map(str, others)))
        return made, made.open(), settings.env.get(TASK_DIR)

    yield opened
    made.remove()


def test_it_is_the_sandbox_if_the_task_can_write_there(opened, tmp_path, guard):
    found, problem, path = opened(tmp_path)
    assert (problem, path, found.remark) == (None, str(tmp_path), {})
    found.remove()
    assert tmp_path.is_dir() and guard.directories == []


def test_else_it_is_a_private_one_under_the_first_directory_that_takes_it(opened, tmp_path, guard):
    (tmp_path / "a-file").touch()
    (tmp_path / "good").mkdir()
    others = (tmp_path / "missing", tmp_path / "good", tmp_path / "never")
    found, problem, path = opened(tmp_path / "no-sandbox", tmp_path / "a-file", others)
    assert problem is None and Path(path).parent == tmp_path / "good"
    assert os.stat(path).st_mode & 0o777 == 0o700
    assert path in guard.directories and found.remark == {"directory": path}


def test_a_directory_that_is_not_the_task_s_own_is_not_used_although_it_can_be(opened, tmp_path):
    (tmp_path / "good").mkdir()
    _, problem, path = opened(tmp_path, tmp_path / "good", is_own=False)
    assert problem is None and Path(path).parent == tmp_path / "good"


def test_a_private_one_is_removed_with_all_that_is_in_it(opened, tmp_path):
    found, _, path = opened(tmp_path / "no-sandbox", tmp_path)
    write(Path(path), deep__in__x_py="")
    found.remove()
    assert os.listdir(tmp_path) == []


def test_what_a_killed_task_left_is_removed_by_the_next(opened, tmp_path):
    left = write(tmp_path / "tfmesos-task-0123", x="")
    _, _, path = opened(tmp_path / "no-sandbox", tmp_path)
    assert not left.exists() and Path(path).is_dir()


def test_if_there_is_none_all_that_was_tried_is_named(opened, tmp_path):
    wrong = (tmp_path / "one", tmp_path / "two")
    _, (code, reason), path = opened(tmp_path / "no-sandbox", tmp_path / "own", wrong)
    assert (code, path) == (NO_WORKSPACE, None)
    for place in (tmp_path / "no-sandbox", tmp_path / "own", *wrong):
        assert str(place) in reason
    assert "No such file or directory" in reason


def test_a_limit_of_processes_is_named_and_no_directory_blamed(
    opened, tmp_path, guard, monkeypatch
):
    def refuse(directory):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(guard, "remove_later", refuse)
    _, problem, _ = opened(tmp_path / "none", tmp_path)
    assert problem[0] == 126 and "no more processes are allowed" in problem[1]


def test_a_relative_tmpdir_is_none(opened, tmp_path):
    _, problem, path = opened(tmp_path / "no-sandbox", "here", [tmp_path])
    assert problem is None and Path(path).parent == tmp_path


@pytest.mark.parametrize("number, code", [(errno.EACCES, NOT_PERMITTED), (98, PORT_TAKEN)])
def test_a_port_that_nobody_may_have_is_told_from_one_that_is_taken(number, code):
    assert refusal(80, OSError(number, "no"))[0] == code


def run(directory: Path, command: str, tmpdir: Path, pack=None):
    """A runner whose sandbox is not there."""
    tmpdir.mkdir()

    async def main():
        async with launcher(packs={"ship": pack} if pack else {}) as ours:
            packs = {"ship": pack.describe()} if pack else {}
            told = settings(ours.address, packs=packs)
            env = {"MESOS_SANDBOX": "/no/such/sandbox", "TMPDIR": str(tmpdir)}
            with runner(directory, told, **env) as theirs:
                ours.start(command, in_image=True)
                await ours.saw(TaskExited)
                await theirs.exited()
                return ours

    return asyncio.run(main())


def test_the_command_runs_there_and_the_launcher_learns_where_that_is(tmp_path):
    ours = run(tmp_path, f"pwd; echo ${TASK_DIR}; touch here && echo written", tmp_path / "tmp")
    first, second, third = ours.lines()
    assert first == second and Path(first).parent == tmp_path / "tmp" and third == "written"
    (registered,) = [event for event in ours.events if isinstance(event, TaskRegistered)]
    assert registered.directory == first
    assert os.listdir(tmp_path / "tmp") == []


def test_shipped_files_lie_there_and_go_with_it(tmp_path):
    pack = packed(write(tmp_path / "source", train_py="print('trained')"))
    command = f"pwd; echo ${SHIP_DIR}; python3 train.py; touch more"
    first, second, third = run(tmp_path, command, tmp_path / "tmp", pack).lines()
    assert first == second and Path(first).parent.parent == tmp_path / "tmp"
    assert (Path(first).name, third) == ("ship", "trained")
    assert os.listdir(tmp_path / "tmp") == []


def test_a_task_that_fails_leaves_none_either(tmp_path):
    assert the_exit(run(tmp_path, "touch here; exit 3", tmp_path / "tmp"))[0] == 3
    assert os.listdir(tmp_path / "tmp") == []
