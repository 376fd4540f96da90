"""Completion as people have it: a key pressed in a real bash, zsh and fish."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bounds import HANG
from tests.commands import environment, tfrun
from tests.mesos.genuine.conftest import unavailable
from tests.terminal import terminal
from tests.whole.test_display import tmux as tmux


@pytest.fixture
def path(tmp_path):
    """With a command ``tfrun``."""
    command = tmp_path / "bin" / "tfrun"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m tfmesos "$@"\n')
    command.chmod(0o755)
    return f"{command.parent}:{os.environ['PATH']}"


@pytest.fixture
def run_id():
    assert tfrun("-w", 1, "-s", 1, "--", "true").returncode == 0
    (run,) = Path(os.environ["XDG_STATE_HOME"]).glob("tfmesos/runs/*")
    return run.name


def needs(shell):
    if not shutil.which(shell):
        unavailable(f"{shell} is not installed")


def completed(shell, typed, wanted):
    """What the shell makes of *typed* when Tab is pressed."""
    shell.press("C-u")
    shell.press("-l", typed)
    shell.press("Tab")
    shell.until(lambda screen: re.search(wanted, last_line(screen)))


def last_line(screen):
    return screen.splitlines()[-1]


def complete_all(shell, run_id):
    completed(shell, "tfrun stat", r"tfrun status ?$")
    completed(shell, "tfrun -w 2 --restart-pol", r"--restart-policy ?$")
    completed(shell, "tfrun -w 2 --restart-policy ne", r"--restart-policy never ?$")
    completed(shell, "tfrun --dry-run=ya", r"--dry-run=yaml ?$")
    completed(shell, f"tfrun logs {run_id[:3]}", rf"tfrun logs {run_id} ?$")
    completed(shell, f"tfrun logs {run_id} wor", rf"tfrun logs {run_id} worker:0 ?$")
    completed(shell, f"tfrun logs {run_id} ps:", rf"tfrun logs {run_id} ps:0 ?$")


def test_bash_completes_commands_flags_runs_and_tasks(path, run_id, tmp_path):
    (tmp_path / "training.py").touch()
    with terminal() as shell:
        shell.type(f"PATH='{path}'; cd {tmp_path}; source <(tfrun completion bash); clear")
        shell.until(lambda screen: screen == "ready>")
        complete_all(shell, run_id)
        completed(shell, "tfrun -w 2 -- python tr", r"-- python training\.py ?$")  # a file


def test_zsh_completes_commands_flags_runs_and_tasks(path, run_id, tmp_path):
    needs("zsh")
    (tmp_path / "training.py").touch()
    with terminal() as shell:
        shell.type(f"cd {tmp_path}; export PATH='{path}' PS1='ready>'; exec zsh -f -i")
        shell.type("autoload -U compinit; compinit -D -u; source <(tfrun completion zsh); clear")
        shell.until(lambda screen: screen == "ready>")
        complete_all(shell, run_id)
        completed(shell, "tfrun -w 2 -- python tr", r"-- python training\.py ?$")


def test_fish_completes_commands_flags_runs_and_tasks(path, run_id, tmp_path):
    needs("fish")

    def offered(line):
        script = f"tfrun completion fish | source; complete -C '{line}'"
        done = subprocess.run(
            ["fish", "--no-config", "-c", script],
            capture_output=True,
            text=True,
            timeout=HANG,
            cwd=tmp_path,
            env=environment(PATH=path, HOME=str(tmp_path)),
        )
        return [one.partition("\t")[0] for one in done.stdout.splitlines()]

    assert offered("tfrun sta") == ["stacks", "status"]
    assert offered("tfrun -w 2 --restart-policy ") == ["all", "never", "task"]
    assert offered(f"tfrun logs {run_id[:3]}") == [run_id]
    assert offered(f"tfrun logs {run_id} ") == ["ps:0", "worker:0"]
    (tmp_path / "training.py").touch()
    assert offered("tfrun -w 2 -- python tr") == ["training.py"]


@pytest.mark.parametrize("words", [(), ("tcsh",)])
def test_a_shell_that_is_missing_or_unknown_is_one_line(words):
    done = tfrun("completion", *words)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "a shell: bash, zsh or fish" in done.stderr


@pytest.mark.parametrize("words", [("nonsense", "x"), ("bash", 'tfrun logs "'), ("zsh", "no", "")])
def test_a_wrong_question_of_a_script_has_a_short_answer(words):
    done = tfrun("completion", *words)
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) <= 1
