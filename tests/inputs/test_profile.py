"""Profiles: flags > job file > profile > environment > [defaults] > defaults."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.builders import workers
from tests.sentences import begins, names
from tfmesos.cli.arguments import in_flags, parse
from tfmesos.cli.config_listing import config_listing
from tfmesos.cli.flag_inputs import inputs_of
from tfmesos.errors import SpecError, TFMesosError
from tfmesos.inputs.profile import config_file
from tfmesos.inputs.resolve import config_of_call

FILE = """\
[defaults]
image = "of/defaults"
role = "of-defaults"
env = {A = "defaults", B = "defaults"}

[profiles.gpu]
master = "gpu:5050"
role = "of-profile"
volumes = ["/data:/data"]
start_timeout = "5m"

[profiles.gpu.env]
B = "profile"
C = "profile"

[profiles.bad]
start_timeout = "soon"
"""


@pytest.fixture(autouse=True)
def file(monkeypatch):
    for name in ("MESOS_MASTER", "DOCKER_IMAGE"):
        monkeypatch.delenv(name, raising=False)
    path = Path(config_file(os.environ))
    path.parent.mkdir(parents=True)
    path.write_text(FILE)
    return path


def config(*argv):
    return inputs_of(parse([*map(str, argv), "-w", "1", "--", "true"])).config()


def said(*argv):
    with pytest.raises(TFMesosError) as caught:
        config(*argv)
    error = caught.value
    return in_flags(error) if isinstance(error, SpecError) else str(error)


def test_the_defaults_of_the_file_count_for_every_run_and_a_profile_for_those_that_name_it():
    usual, chosen = config(), config("--profile", "gpu")
    assert (usual.master, usual.image, usual.role) == ("local", "of/defaults", "of-defaults")
    assert (chosen.master, chosen.image, chosen.role) == ("gpu:5050", "of/defaults", "of-profile")
    assert chosen.start_timeout == 300
    assert usual.env == {"A": "defaults", "B": "defaults"}
    assert chosen.env == {"A": "defaults", "B": "profile", "C": "profile"}


def test_a_variable_names_the_profile_and_the_flag_wins_over_it(monkeypatch):
    monkeypatch.setenv("TFMESOS_PROFILE", "gpu")
    assert config().master == "gpu:5050"
    monkeypatch.setenv("TFMESOS_PROFILE", "bad")
    assert config("--profile", "gpu").master == "gpu:5050"


def test_flags_win_over_the_job_file_that_over_the_profile_and_that_over_the_environment(
    tmp_path, monkeypatch
):
    job = tmp_path / "job.yaml"
    job.write_text("role: of-file\nuser: of-file\nenv: {C: file}\njobs: {worker: {}}\n")
    monkeypatch.setenv("MESOS_MASTER", "environment:5050")
    monkeypatch.setenv("DOCKER_IMAGE", "of/environment")
    made = config("--job-file", job, "--profile", "gpu", "--user", "of-flag")
    assert (made.task_user, made.role, made.master) == ("of-flag", "of-file", "gpu:5050")
    assert made.image == "of/environment"  # which wins over [defaults]
    assert made.env == {"A": "defaults", "B": "profile", "C": "file"}


def test_volumes_of_flags_come_beside_those_of_the_profile():
    made = config("--profile", "gpu", "-V", "/a:/b")
    assert [volume.container for volume in made.volumes] == ["/data", "/b"]


def test_a_call_from_python_heeds_profiles_in_the_same_way(tmp_path, monkeypatch):
    made = config_of_call(workers(1), {"profile": "gpu", "volumes": {"/a": "/b"}, "role": "mine"})
    assert (made.master, made.role, made.env["C"]) == ("gpu:5050", "mine", "profile")
    assert [volume.container for volume in made.volumes] == ["/data", "/b"]
    job = tmp_path / "job.yaml"
    job.write_text("cmd: x\njobs: {worker: {}}\n")
    assert config_of_call(job, {"profile": "gpu"}).master == "gpu:5050"
    monkeypatch.setenv("TFMESOS_PROFILE", "bad")
    with pytest.raises(SpecError, match=r"config\.toml:17: profiles\.bad\.start_timeout must be"):
        config_of_call(workers(1), {})


def test_a_wrong_value_of_a_profile_is_named_with_its_line_unless_a_flag_is_to_blame(file):
    assert said("--profile", "bad").startswith(f"{file}:17: profiles.bad.start_timeout must be")
    assert said("--profile", "bad", "--start-timeout", "x").startswith("--start-timeout must be")


@pytest.mark.parametrize(
    "text, line, problem",
    [
        ("[defaults]\nimge = 'x'", 2, "defaults.imge is not a setting: did you mean image?"),
        ("[profiles.a]\n\nmastr = 1", 3, "profiles.a.mastr is not a setting: did you mean master?"),
        ("[profiles.a]\njobs = {}", 2, "profiles.a.jobs ... a job file: ... profile"),
        ("[profiles.a]\nprofile = 'b'", 2, "profiles.a.profile is not a setting"),
        ("image = 'x'", 1, "image must be under [defaults] or [profiles.NAME]"),
        ("[default]\nimage = 'x'", 1, "default ... [defaults] or"),
        ("profiles = 5", 1, "profiles ... table, ... got 5"),
        ("[profiles]\na = 5", 2, "profiles.a ... [profiles.a], got 5"),
        ("[defaults\n", 1, "is not valid TOML"),
    ],
)
def test_a_wrong_key_is_named_with_its_line_and_a_suggestion(file, text, line, problem):
    file.write_text(text)
    assert begins(said(), f"{file}:{line}: {problem}")


def test_a_profile_that_is_not_there_is_refused_with_those_that_are(file, monkeypatch):
    listed = f"but {file} has gpu, bad: did you mean gpu?"
    assert said("--profile", "gup") == f"--profile names 'gup', {listed}"
    monkeypatch.setenv("TFMESOS_PROFILE", "gup")
    assert said() == f"--profile names 'gup' ($TFMESOS_PROFILE), {listed}"
    file.unlink()
    assert said().endswith(f"but {file} does not exist")


def test_a_file_that_others_can_write_is_refused(file):
    file.chmod(0o666)
    assert names(said(), "profiles", f"{file} is writable", "chmod go-w")
    file.chmod(0o600)
    file.parent.chmod(0o777)
    assert names(said(), "profiles", f"{file.parent} is writable")
    file.parent.chmod(0o700)
    assert config().image == "of/defaults"


def test_a_file_that_cannot_be_read_is_named(file):
    file.unlink()
    file.mkdir()
    assert names(said(), "profiles", f"{file}: Is a directory")


def test_a_job_file_names_no_profile(tmp_path):
    job = tmp_path / "job.yaml"
    job.write_text("profile: gpu\njobs: {worker: {}}\n")
    assert names(said("--job-file", job), f"{job}:1: profile ", "not a setting")


def test_tfrun_config_tells_every_setting_and_where_it_comes_from(file, tmp_path, monkeypatch):
    job = tmp_path / "job.yaml"
    job.write_text("user: me\njobs: {worker: {}}\n")
    monkeypatch.setenv("TFMESOS_PROFILE", "gpu")
    monkeypatch.setenv("DOCKER_IMAGE", "of/environment")
    rows = json.loads(config_listing([str(job), "--json", "-V", "/a:/b"]))
    assert {(row["setting"], row["value"], row["from"]) for row in rows} == {
        ("profile", "gpu", "$TFMESOS_PROFILE"),
        ("master", "gpu:5050", f"{file}:7 ([profiles.gpu])"),
        ("role", "of-profile", f"{file}:8 ([profiles.gpu])"),
        ("start_timeout", "5m", f"{file}:10 ([profiles.gpu])"),
        ("image", "of/environment", "$DOCKER_IMAGE"),
        ("user", "me", f"{job}:1"),
        ("volumes", "/a:/b", "-V/--volume"),
        ("volumes", "/data:/data", f"{file}:9 ([profiles.gpu])"),
        ("env.A", "defaults", f"{file}:4 ([defaults])"),
        ("env.B", "profile", f"{file}:13 ([profiles.gpu])"),
        ("env.C", "profile", f"{file}:14 ([profiles.gpu])"),
    }
    (line,) = [one for one in config_listing([str(job)]).splitlines() if "$DOCKER" in one]
    assert line.split() == ["image", "=", '"of/environment"', "$DOCKER_IMAGE"]


def test_tfrun_config_shows_no_password(file):
    file.write_text('[defaults]\nmaster = "zk://me:hush@host/mesos"')
    assert "hush" not in config_listing([]) and "***@host" in config_listing([])


def test_tfrun_config_of_nothing_names_the_file(file):
    file.unlink()
    assert str(file) in config_listing([])
