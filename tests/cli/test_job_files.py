"""A job file beside flags: flags win, and an error names the one that said it."""

from __future__ import annotations

import io
import sys

import pytest

from tests.builders import workers
from tests.sentences import names
from tfmesos import TFMesosScheduler
from tfmesos.cli.arguments import in_flags, parse
from tfmesos.cli.flag_inputs import inputs_of
from tfmesos.config.job import Job
from tfmesos.errors import CannotRead, SpecError
from tfmesos.inputs.resolve import config_of_call

FILE = """\
name: mnist
cmd: [python, train.py]
env: {A: "1"}
image: me/train
jobs:
  ps: {serve: true}
  worker:
    num: 2
    mem: 64
"""


@pytest.fixture
def job_yaml(tmp_path, monkeypatch):
    monkeypatch.delenv("DOCKER_IMAGE", raising=False)
    monkeypatch.delenv("MESOS_MASTER", raising=False)
    path = tmp_path / "job.yaml"
    path.write_text(FILE)
    return path


def config(*argv):
    args = parse([str(arg) for arg in argv])
    return inputs_of(args).config()


def said(*argv):
    with pytest.raises(SpecError) as caught:
        config(*argv)
    return in_flags(caught.value)


def test_a_job_file_is_the_first_argument_or_has_a_flag(job_yaml):
    made = config(job_yaml)
    assert made.jobs == (Job("ps", 1), workers(2, mem=64, cmd=["python", "train.py"]))
    assert (made.name, made.image, made.env) == ("mnist", "me/train", {"A": "1"})
    assert config("--job-file", job_yaml) == made
    assert config("-m", "local", "--job-file", job_yaml) == made


def test_a_job_file_behind_a_flag_is_refused_with_its_place(job_yaml, capsys):
    with pytest.raises(SystemExit) as end:
        parse(["--dry-run", str(job_yaml)])
    assert end.value.code == 2
    assert names(capsys.readouterr().err, f"{job_yaml} is a job file", "first argument")
    assert parse(["-w", "2", "cat", "job.yaml"]).cmd == ["cat", "job.yaml"]


def test_a_job_file_may_come_from_standard_input(job_yaml, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FILE.encode())))
    assert config("--job-file", "-") == config(job_yaml)


def test_flags_beside_a_file_win(job_yaml):
    made = config(
        job_yaml, "-w", 4, "-Cw", 2, "--env", "B=2", "--image", "", "-n", "other", "--", "x"
    )
    assert made.jobs == (Job("ps", 1), workers(4, mem=64, cpus=2, cmd="x"))
    assert (made.name, made.image, made.env) == ("other", None, {"A": "1", "B": "2"})


def test_a_chief_added_by_a_flag_is_like_the_workers_of_the_file(job_yaml):
    assert config(job_yaml, "--chief").jobs[2] == Job(
        "chief", 1, mem=64, cmd=["python", "train.py"]
    )


def test_serve_takes_a_command_away_from_a_job_of_the_file(job_yaml):
    made = config(job_yaml, "--chief", "--serve", "worker")
    assert [job.name for job in made.jobs if job.cmd is None] == ["ps", "worker"]


def test_the_file_wins_over_the_environment(job_yaml, monkeypatch):
    monkeypatch.setenv("DOCKER_IMAGE", "of/the-environment")
    assert config(job_yaml).image == "me/train"
    assert config(job_yaml, "-m", "mesos:5050", "--image", "").image == "of/the-environment"


def test_an_error_names_the_line_of_the_file_or_the_flag_that_said_it(job_yaml):
    job_yaml.write_text(FILE.replace("mem: 64", "mem: 3") + "hang_timeout: -1\n")
    problem = "must be at least 32 (MiB), got"
    assert said(job_yaml) == f"{job_yaml}:9: jobs.worker.mem {problem} 3"
    assert said(job_yaml, "-Mw", 4) == f"-Mw/--worker-mem {problem} 4"
    assert names(said(job_yaml, "-Mw", 64), f"{job_yaml}:10: hang_timeout", "above 0", "-1")
    assert names(said(job_yaml, "-Mw", 64, "--hang-timeout", "0"), "--hang-timeout", "0", "0.0")


def test_a_wrong_name_of_a_job_has_its_own_line_whatever_the_run_is_called(job_yaml):
    job_yaml.write_text(FILE.replace("worker:", "worker-0:"))
    problem = said(job_yaml)
    assert names(problem, f"{job_yaml}:7: jobs.worker-0 ", "letters, digits and _")
    assert said(job_yaml, "-n", "other") == problem
    assert said(job_yaml, "--job", "worker-0=2") == "--job 'worker-0' " + problem.split(" ", 2)[2]


def test_a_file_that_a_job_file_names_and_that_is_not_there_has_the_same_exit_code(job_yaml):
    job_yaml.write_text(FILE + "secrets: {a: nofile}\n")
    with pytest.raises(SpecError) as caught:
        config(job_yaml)
    assert caught.value.exit_code == 66
    assert names(str(caught.value), f"{job_yaml}:10: secrets a ", "file")


def test_a_command_that_no_job_of_the_file_would_run_is_refused(job_yaml):
    job_yaml.write_text("jobs: {worker: {serve: true}, tensorboard: {cmd: x}}")
    assert said(job_yaml, "--", "y").startswith("the command is not used by any job")


def test_a_command_beside_the_file_is_that_of_every_job_that_runs_one(job_yaml):
    job_yaml.write_text(
        "cmd: x\njobs: {chief: {}, worker: {cmd: [a, b], args: [--c]}, ps: {serve: true},"
        " tensorboard: {cmd: tensorboard --logdir /l}}"
    )
    jobs = {job.name: job.cmd for job in config(job_yaml, "--", "python", "{task_index}").jobs}
    board = "tensorboard --logdir /l"
    own = ("python", "{task_index}")
    assert jobs == {"chief": own, "worker": (*own, "--c"), "ps": None, "tensorboard": board}


@pytest.mark.parametrize("name", ["missing.yaml", "missing.json", "."])
def test_a_file_that_cannot_be_read_is_named(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CannotRead, match=f"^the job file cannot be read: {name}: ") as caught:
        config("--job-file", name)
    assert caught.value.exit_code == 66


def test_python_takes_a_job_file_and_changes_of_it(job_yaml):
    assert TFMesosScheduler(job_yaml).config == config(job_yaml)
    assert TFMesosScheduler(str(job_yaml), name="other", env={"B": "2"}).config == config(
        job_yaml, "-n", "other", "--env", "B=2"
    )


def test_an_error_from_python_names_the_line_or_the_setting(job_yaml):
    job_yaml.write_text(FILE + "hang_timeout: -1\n")
    with pytest.raises(SpecError, match=rf"^{job_yaml}:10: hang_timeout must be above 0, got -1$"):
        config_of_call(job_yaml, {})
    with pytest.raises(SpecError, match=r"^hang_timeout must be above 0, got -2$"):
        config_of_call(job_yaml, {"hang_timeout": -2})


def test_a_function_of_the_flags_takes_the_place_of_the_command_in_the_file(job_yaml):
    ps, worker = config(job_yaml, "--entry", "train:main", "--context", '{"a": 1}').jobs
    assert (ps.cmd, worker.cmd[-1], worker.num) == (None, "train:main", 2)


def test_a_function_of_a_call_from_python_takes_the_place_of_the_command_in_the_file(job_yaml):
    assert config_of_call(job_yaml, {"entry": "train:main"}).jobs[1].cmd[-1] == "train:main"


def test_a_command_takes_the_place_of_the_function_in_the_file(tmp_path):
    path = tmp_path / "entry.yaml"
    path.write_text(
        "entry: train:main\nlog_dir: /logs\ncontext: {a: 1}\njobs: {worker: {}, ps: {}}"
    )
    made = config(path)
    assert made.jobs[0].cmd[-1] == "train:main"
    assert (made.env["TFMESOS_LOG_DIR"], made.env["TFMESOS_CONTEXT"]) == ("/logs", '{"a": 1}')
    assert config(path, "--", "true").jobs == (workers(1, cmd="true"), Job("ps", 1))
