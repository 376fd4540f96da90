"""What is written down of a run before it begins tells its settings and no secret."""

import json
import os
import platform
import sys

from tests.bounds import HANG
from tests.builders import workers
from tfmesos.inputs.merging import make_config
from tfmesos.runs.about import _shown, about, program, settings_of, write_commit
from tfmesos.runs.event_json import to_json
from tfmesos.runs.launcher_process import this_process
from tfmesos.shared import json_reader
from tfmesos.version import __version__


def test_the_settings_that_are_not_as_usual_are_told_without_secrets(tmp_path):
    (tmp_path / "token").write_text("hush")
    config = make_config(
        workers(1),
        master="zk://me:hush@h/mesos",
        token_file=tmp_path / "token",
        env={"KEY": "hush"},
        secret_env={"TOKEN": "env:PATH"},
        restarts="unlimited",
        bring=["*.h5"],
        stop_grace="2m",
    )
    found = settings_of(config)
    assert found["stop_grace"] == "120.0" and found["bring"] == "('*.h5',)"
    assert found["env"] == ["KEY"] and "inf" in found["restarts"]
    text = json.dumps(about("abcd", config, ["tfrun"], ["-w", "1"], "/", 0.0))
    assert "hush" not in text
    assert json_reader.read(text.encode())["settings"] == found


def test_everything_by_which_a_run_is_known_is_told():
    config = make_config(workers(2), master="zk://me:hush@h:2181/mesos", name="mnist")
    found = about("abcd", config, ["tfrun", "-w", "2"], ["-w", "2"], "/data", 12.5)
    settings, launcher = found.pop("settings"), found.pop("launcher")
    assert found == {
        "id": "abcd",
        "began": 12.5,
        "command": ["tfrun", "-w", "2"],
        "shown": ["tfrun", "-w", "2"],
        "arguments": ["-w", "2"],
        "cwd": "/data",
        "name": "mnist",
        "master": "zk://***@h:2181/mesos",
        "jobs": {"worker": 2},
        "survive": 600.0,
        "versions": {"tfmesos": __version__, "python": platform.python_version()},
    }
    assert launcher == to_json(this_process()) and settings == settings_of(config)


def commit_of(directory, file):
    git = write_commit(str(directory), file)
    git.wait(HANG)
    return file.read_text()


def test_the_commit_of_a_directory_is_written_for_its_owner_alone(tmp_path, capfd):
    file = tmp_path / "commit"
    before = os.umask(0)
    try:
        assert commit_of(tmp_path, file) == ""  # it is no repository
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o777 == 0o600
    head = "0123456789abcdef0123456789abcdef01234567"
    for name, text in {"HEAD": head, "config": "", "objects/x": "", "refs/x": ""}.items():
        (tmp_path / ".git" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / ".git" / name).write_text(f"{text}\n")
    assert commit_of(tmp_path, file) == f"{head}\n"
    assert capfd.readouterr() == ("", "")


def test_without_git_there_is_no_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/no/such")
    assert write_commit(str(tmp_path), tmp_path / "commit") is None


def test_passwords_in_addresses_are_not_written_down():
    words = ["-m", "zk://me:hush@h:2181/mesos", "--proxy=http://me:hush@h"]
    config = make_config(workers(1), master="zk://me:hush@h:2181/mesos")
    found = about("abcd", config, ["tfrun", *words], words, "/", 0.0)
    assert "hush" not in json.dumps(found)
    for shown in (found["command"][1:], found["arguments"]):
        assert shown[0] == "-m" and shown[1].endswith("@h:2181/mesos")
    assert about("abcd", config, [], None, "/", 0.0)["arguments"] is None


def test_of_a_program_that_calls_the_library_python_is_named_and_of_a_notebook_that_it_is_one(
    monkeypatch,
):
    monkeypatch.setattr(sys, "argv", ["a3.py", "--steps", "3"])
    assert program() == ["python", "a3.py", "--steps", "3"]
    monkeypatch.setattr(sys, "argv", [""])
    assert program() == ["python"]
    monkeypatch.setattr(sys, "argv", ["launcher.py", "-f", "/tmp/kernel.json"])
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert program() == ["notebook"]


def test_what_is_shown_of_a_run_has_no_password():
    config = make_config(workers(1), master="local")
    words = ["curl", "http://me:hush@h/data"]
    assert "hush" not in json.dumps(about("abcd", config, words, None, "/", 0.0, words))
    assert about("abcd", config, ["tfrun", *words], None, "/", 0.0, words[:1])["shown"] == ["curl"]


def test_a_text_is_told_without_its_password_and_a_number_as_it_is():
    assert "hush" not in _shown("http://me:hush@h") and _shown("h") == "h"
    assert (_shown(True), _shown(3)) == (True, 3)


def test_usual_settings_are_not_told():
    assert settings_of(make_config(workers(1), master="local")).keys() <= {"logs"}
