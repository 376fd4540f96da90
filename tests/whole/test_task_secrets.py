"""Whole runs on this machine whose tasks are brought secrets."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from tests.bounds import HANG
from tests.commands import read_until, running_tfrun, tfrun, without_waits
from tests.sentences import begins, names
from tfmesos import Job, cluster
from tfmesos.errors import TaskFailed

HUSH = "hush-59f0c4d1e7"
SHOW = (
    'echo "$(cat $TFMESOS_SECRETS_DIR/token) $API_KEY $(cat $GOOGLE_APPLICATION_CREDENTIALS) '
    '$PLAIN at $TFMESOS_SECRETS_DIR"'
)


@pytest.fixture
def files(tmp_path):
    """A directory of a token, a key and some variables."""
    contents = {"token": HUSH, "key.json": '{"type":"service_account"}', "variables": "PLAIN=1\n"}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o600)
    return tmp_path


FLAGS = (
    *("--secret", "token=token", "--secret-env", "API_KEY=env:HUSH", "--gcs-key", "key.json"),
    *("--env-file", "variables"),
)


@pytest.mark.parametrize("where", [(), ("--local-chief",)], ids=["on a node", "right here"])
def test_every_task_finds_its_secrets_and_leaves_none(files, where):
    done = tfrun("-w", 2, *where, *FLAGS, "--", SHOW, env={"HUSH": HUSH}, cwd=files)
    assert (done.returncode, without_waits(done.stderr)) == (0, "")
    lines = sorted(line.removeprefix("[worker:0] ") for line in done.stdout.splitlines())
    lines = [line.removeprefix("[worker:1] ") for line in lines]
    places = {line.rpartition(" at ")[2] for line in lines}
    assert {line.rpartition(" at ")[0] for line in lines} == {
        f'{HUSH} {HUSH} {{"type":"service_account"}} 1'
    }
    assert len(places) == 2, "each task has its own copy"
    assert not [place for place in places if os.path.exists(place)]


@pytest.mark.parametrize("where", [(), ("--local-chief",)], ids=["on a node", "right here"])
def test_a_killed_launcher_leaves_no_secret(files, where):
    script = "echo at $TFMESOS_SECRETS_DIR; exec sleep 1000"
    with running_tfrun(*where, "-w", 1, "--secret", f"token={files}/token", "--", script) as run:
        place = read_until(run.stdout, "at ")[-1].rpartition("at ")[2]
        assert os.listdir(place) == ["token"]
        run.send_signal(signal.SIGKILL)
        end = time.monotonic() + HANG
        while os.path.exists(place):
            assert time.monotonic() < end, "it stays"
            time.sleep(0.05)


def test_a_warning_names_a_secret_that_everybody_can_read_and_the_run_goes_on(files):
    (files / "token").chmod(0o644)
    done = tfrun("-w", 1, "--secret", "token=token", "--", "true", cwd=files)
    assert done.returncode == 0
    assert names(without_waits(done.stderr), "tfrun: token ", "everybody", "chmod 600")


@pytest.mark.parametrize(
    "flags, code, problem",
    [
        (["--secret", HUSH], 2, "--secret ... NAME=FILE or NAME=env:VARIABLE"),
        (["--secret-env", HUSH], 2, "--secret-env ... NAME=FILE or NAME=env:VARIABLE"),
        (
            ["--secret", f"token={HUSH}"],
            66,
            "--secret token ... not exist: ... NAME=FILE or NAME=env:VARIABLE",
        ),
        (
            ["--secret", "a=token", "--secret", "a=key.json"],
            2,
            "--secret ... two ... 'a'",
        ),
        (
            ["--secret-env", "A=env:NO_SUCH"],
            2,
            "--secret-env A ... 'NO_SUCH', ... not set",
        ),
        (["--env-file", "none"], 66, "--env-file cannot be read: none: No such file or directory"),
        (["--gcs-key", "none"], 66, "--gcs-key ... not exist: none"),
    ],
)
def test_a_wrong_secret_is_one_line_and_starts_nothing(files, flags, code, problem):
    done = tfrun("-w", 1, *flags, "--", "touch", "started", cwd=files)
    assert (done.returncode, done.stdout) == (code, "") and HUSH not in done.stderr
    assert begins(done.stderr, f"tfrun: {problem}")
    assert not (files / "started").exists()


def test_without_cryptography_secrets_stay_here_and_one_line_names_the_package(files):
    (files / "cryptography").mkdir()
    (files / "cryptography" / "__init__.py").write_text("raise ImportError('none')")
    flags = ("-w", 1, "--advertise", "192.0.2.1", "--secret", "token=token")
    done = tfrun(*flags, "--", "true", cwd=files, env={"PYTHONPATH": str(files)})
    expected = "tfrun: --secret needs the package cryptography: pip install cryptography\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", expected)


def test_a_job_file_names_secrets_under_the_field_of_the_setting(files):
    (files / "job.json").write_text(
        json.dumps(
            {
                "jobs": {"worker": {"num": 1}},
                "cmd": SHOW,
                "secrets": {"token": "token"},
                "secret_env": {"API_KEY": "env:HUSH"},
                "gcs_key": "key.json",
                "env_file": "variables",
            }
        )
    )
    done = tfrun("job.json", cwd=files, env={"HUSH": HUSH})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"[worker:0] {HUSH} {HUSH} ")


SERVER = """
import os
with open(os.environ["TFMESOS_SECRETS_DIR"] + "/token") as file:
    print("seen", file.read(), os.environ["API_KEY"], flush=True)
os._exit(3)
"""


def test_a_bare_server_of_a_program_finds_them_too(files, monkeypatch, capfd):
    (files / "tensorflow.py").write_text(SERVER)
    monkeypatch.setenv("HUSH", HUSH)
    secrets = {"secrets": {"token": files / "token"}, "secret_env": {"API_KEY": "env:HUSH"}}
    with pytest.raises(TaskFailed):
        env = {"PYTHONPATH": str(files)}
        with cluster(Job("ps", 1), master="local", env=env, logs="all", restarts=0, **secrets):
            pytest.fail("it must not start")
    assert f"seen {HUSH} {HUSH}" in "".join(capfd.readouterr())
