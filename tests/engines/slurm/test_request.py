"""What Slurm is asked for: options of sbatch and srun, and the script."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.bounds import HANG
from tfmesos.config.job import Job
from tfmesos.config.secret import Secret
from tfmesos.engines.slurm import images, request
from tfmesos.engines.slurm import script as script_module
from tfmesos.engines.slurm.actions import Seat, Step, step_name
from tfmesos.engines.slurm.api.answers import KnownNode
from tfmesos.engines.slurm.script import TAKE_LINE, script, table
from tfmesos.errors import SpecError
from tfmesos.inputs.merging import make_config

NODES = (
    KnownNode("n1", "n1", ("rack1",)),
    KnownNode("n2", "n2", ("rack2",)),
    KnownNode("n3", "n3", ("rack2", "fast")),
)


@pytest.fixture(autouse=True)
def outside_of_an_allocation(monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)


def job(**more):
    return Job("worker", 2, cmd="true", **more)


def asked(one, master="slurm://", **settings):
    """The words for a batch job of this job alone."""
    config = make_config([one], master=master, **settings)
    step = Step(tuple(Seat(f"run-worker-{i}-1", task) for i, task in enumerate(one.tasks)))
    return request.submission(config, "run", "1", [step], NODES)


@pytest.mark.parametrize(
    "more, settings, words",
    [
        ({"cpus": 2, "mem": 4096}, {}, ["--cpus-per-task=2", "--mem-per-cpu=2048M"]),
        ({"cpus": 0.5, "mem": 100}, {}, ["--cpus-per-task=1", "--mem-per-cpu=100M"]),
        ({"gpus": 2}, {}, ["--gpus-per-task=2"]),
        ({"gpus": 2}, {"gpu_resource": "gpu:a100"}, ["--gpus-per-task=a100:2"]),
        ({"disk": 500}, {}, ["--tmp=500M"]),
        ({}, {"master": "slurm://gpu"}, ["--partition=gpu"]),
        ({}, {"name": "mine"}, ["--job-name=mine"]),
        ({}, {"run_timeout": "1h"}, ["--time=62"]),
        ({}, {"slurm_options": ["--account=x", "--exclusive"]}, ["--account=x", "--exclusive"]),
        ({"constraints": ["hostname:UNIQUE"]}, {}, ["--ntasks-per-node=1"]),
        ({"constraints": ["hostname:MAX_PER:2"]}, {}, ["--ntasks-per-node=2"]),
        ({"constraints": ["hostname:CLUSTER"]}, {}, ["--nodes=1-1"]),
        ({"constraints": ["hostname:GROUP_BY"]}, {}, ["--spread-job"]),
        ({"constraints": ["hostname:IS:n2"]}, {}, ["--exclude=n1,n3"]),
        ({"constraints": ["hostname:UNLIKE:n[12]"]}, {}, ["--exclude=n1,n2"]),
        ({"constraints": ["feature:IS:rack2"]}, {}, ["--exclude=n1"]),
        ({"constraints": ["feature:UNLIKE:fast"]}, {}, ["--exclude=n3"]),
    ],
)
def test_a_setting_becomes_an_option_of_sbatch(more, settings, words):
    found = asked(job(**more), **settings)
    assert [word for word in words if word not in found] == []


def test_a_job_is_never_requeued_and_writes_nothing():
    words = asked(job())
    for word in ("--no-requeue", "--output=/dev/null", "--ntasks=2", "--parsable"):
        assert word in words


@pytest.mark.parametrize(
    "settings, parts",
    [
        ({"slurm_options": ["--ntasks=3"]}, ("slurm_options", "--ntasks=3", "-w")),
        ({"slurm_options": ["--requeue"]}, ("slurm_options", "--requeue")),
        ({"slurm_options": ["--part=small"]}, ("slurm_options", "--part=small", "slurm://")),
        ({"slurm_options": ["--help"]}, ("slurm_options", "--help")),
        ({"slurm_options": ["--uid=0"]}, ("slurm_options", "--uid=0")),
        ({"slurm_options": ["-A x"]}, ("slurm_options", "-A x", "--account=research")),
        ({"slurm_options": "--account=x"}, ("slurm_options", "list")),
        ({"slurm_options": ["--time=5"], "run_timeout": 60}, ("slurm_options", "--time")),
        ({"user": "nobody"}, ("user", "nobody")),
        ({"role": "ml"}, ("role", "account")),
        ({"containerizer_type": "DOCKER"}, ("containerizer_type", "pyxis")),
        ({"master": "slurm://a b"}, ("master", "a b")),
        ({"constraints": ["rack:IS:r1"]}, ("constraints", "rack:IS:r1", "feature")),
        ({"constraints": ["feature:UNIQUE"]}, ("constraints", "feature:UNIQUE")),
    ],
)
def test_what_slurm_cannot_be_asked_for_is_refused_by_name(settings, parts):
    with pytest.raises(SpecError) as caught:
        make_config([job()], **{"master": "slurm://", **settings})
    assert [part for part in parts if part not in str(caught.value)] == []


def test_an_option_for_slurm_has_no_meaning_elsewhere():
    with pytest.raises(SpecError, match="slurm_options is supported only on Slurm"):
        make_config([job()], master="local", slurm_options=["--account=x"])


def test_within_an_allocation_its_nodes_are_used_unless_a_partition_is_named(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    assert make_config([job()], master="slurm://").slurm.allocation == "12"
    assert make_config([job()], master="slurm://gpu").slurm.allocation == ""


def test_tasks_inherit_the_environment_but_not_that_of_slurm_or_this_host(monkeypatch):
    for name in ("MINE", "SLURM_NTASKS", "CUDA_VISIBLE_DEVICES", "TMPDIR"):
        monkeypatch.setenv(name, "1")
    inherited = make_config([job()], master="slurm://").inherited_env
    assert "MINE" in inherited and "PATH" in inherited
    assert not {"SLURM_NTASKS", "CUDA_VISIBLE_DEVICES", "TMPDIR"} & set(inherited)


# The script


def a_step(number=2):
    seats = tuple(Seat(f"run-worker-{i}-1", task) for i, task in enumerate(job().tasks[:number]))
    return Step(seats)


TOLD = {f"run-worker-{i}-1": (f"host:1 run worker-{i}", Secret(f"hush{i}")) for i in range(2)}


def written():
    step = a_step()
    name = step_name(step)
    return script([step], {name: ["--ntasks=2"]}, {name: ["true"]}, TOLD, "tfmesos run 1")


def test_secrets_stand_in_a_here_document_and_in_no_command():
    text = written()
    head, body, _ = text.split("TFMESOS_TABLE'", 1)[0], *text.split("TFMESOS_TABLE", 2)[1:]
    assert "hush" not in head and "0 hush0 host:1 run worker-0" in body


def test_the_script_is_one_that_every_shell_reads():
    done = subprocess.run(["sh", "-n"], input=written(), text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("answer", ["echo Invalid job id specified >&2; exit 1", "echo CANCELLED"])
def test_the_script_ends_if_its_job_is_none_any_more(answer, tmp_path, monkeypatch):
    """Its steps have ended. If the job ran, the script would wait a minute for others."""
    commands = {"squeue": f'case "$*" in *--steps*) exit 1; esac; {answer}', "srun": "cat"}
    for name, lines in commands.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{lines}\n")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setattr(script_module, "PATH", f"{tmp_path}:{script_module.PATH}")
    monkeypatch.setattr(script_module, "LINGER", 100 * HANG)
    env = {"SLURM_JOB_ID": "7", "TMPDIR": str(tmp_path)}
    done = subprocess.run(["sh"], input=written(), text=True, env=env, timeout=HANG)
    assert done.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_script_that_is_killed_leaves_no_file_on_its_node(number, tmp_path, monkeypatch):
    commands, files, has_begun = (tmp_path / name for name in ("commands", "files", "begun"))
    commands.mkdir()
    files.mkdir()
    os.mkfifo(has_begun)
    (commands / "srun").write_text(f"#!/bin/sh\necho yes >{has_begun}\nexec sleep {HANG}\n")
    (commands / "srun").chmod(0o700)
    monkeypatch.setattr(script_module, "PATH", f"{commands}:{script_module.PATH}")
    env = {"SLURM_JOB_ID": "7", "TMPDIR": str(files)}
    with subprocess.Popen(["sh", "-c", written()], env=env, start_new_session=True) as process:
        try:
            assert has_begun.read_text() == "yes\n"
        finally:
            os.killpg(process.pid, number)
        assert process.wait(HANG) == -number
    assert list(files.iterdir()) == []


def test_the_script_notes_with_its_job_what_a_failed_step_said_last(tmp_path, monkeypatch):
    noted = tmp_path / "noted"
    commands = {
        "squeue": 'case "$*" in *%k) echo tfmesos run 1 2 login-2; esac; echo CANCELLED',
        "scontrol": f'echo "$3" >>{noted}',
        "srun": "echo '1;2|3' >&2; echo srun: error: node1: task 0: Exited >&2; exit 3",
    }
    for name, lines in commands.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{lines}\n")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setattr(script_module, "PATH", f"{tmp_path}:{script_module.PATH}")
    env = {"SLURM_JOB_ID": "7", "TMPDIR": str(tmp_path)}
    done = subprocess.run(["sh"], input=written(), text=True, env=env, timeout=HANG)
    assert done.returncode == 3
    name = step_name(a_step())
    assert noted.read_text() == f"Comment=tfmesos run 1 2 login-2;{name} 3 1,2/3\n"


def test_a_task_finds_its_own_line_by_its_number():
    says = "print(os.environ['TFMESOS_SECRET'],os.environ['TFMESOS_RUNNER'],repr(open(0).read()))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", TAKE_LINE + says],
        input=table(a_step(), TOLD),
        env={"SLURM_PROCID": "1", "PATH": "/usr/bin:/bin"},
        text=True,
        capture_output=True,
    )
    assert done.stdout == "hush1 host:1 run worker-1 ''\n", done.stderr


def test_a_later_step_shares_processors_and_memory_and_names_its_node():
    config = make_config([job()], master="slurm://")
    step = a_step(1).replace(node="n2")
    words = request.later_step_arguments("7", step, 1, config, is_given=False)
    assert {"--jobid=7", "--overlap", "--mem=0", "--nodelist=n2"} <= set(words)
    assert not any(word.startswith("--cpus-per-task") for word in words)


def program(apptainer="", **settings):
    """What srun starts for each task of a job with these settings."""
    config = make_config([job(gpus=settings.pop("gpus", 0))], master="slurm://", **settings)
    return images.program("exec python", config.jobs[0], config, apptainer)


VOLUMES = ["/data:/mnt:ro", "/out:/out"]
SHELL = ["sh", "-c", "exec python"]


def test_an_image_and_its_volumes_are_options_of_the_step_as_pyxis_names_them():
    settings = {"image": "tf:2.16", "volumes": VOLUMES}
    options = ["--container-image=tf:2.16", "--container-mounts=/data:/mnt:ro,/out:/out"]
    assert program(**settings) == [*options, *SHELL]
    assert program() == SHELL == program("/usr/bin/apptainer")
    assert not [word for word in asked(job(), **settings) if word.startswith("--container")]


@pytest.mark.parametrize(
    "image, located",
    [
        ("tf:2.16", "docker://tf:2.16"),
        ("/images/tf.sif", "/images/tf.sif"),
        ("oras://host/tf:2", "oras://host/tf:2"),
    ],
)
def test_an_image_that_apptainer_runs_is_a_docker_image_a_path_or_an_address(image, located):
    words = program("/usr/bin/apptainer", image=image)
    assert words == ["/usr/bin/apptainer", "--silent", "exec", located, *SHELL]


def test_apptainer_binds_volumes_and_gives_gpus():
    words = program("/usr/bin/apptainer", image="/tf.sif", volumes=VOLUMES, gpus=1)
    assert words[2:6] == ["exec", "--bind=/data:/mnt:ro,/out:/out", "--nv", "/tf.sif"]
