"""The code is here, and the nodes do not have it: --ship brings it to every task."""

from __future__ import annotations

import os
import sys

import pytest

from tests.commands import tfrun, without_waits
from tests.packs import everything_in, write
from tests.sentences import begins, names
from tests.tls import make_certificate, server_context
from tests.web import web_server
from tfmesos import cluster

TRAIN = """
import os, pathlib, package.model
mine = pathlib.Path("mine")
print(package.model.ANSWER, mine.exists(), os.getcwd() == os.environ["TFMESOS_SHIP_DIR"])
mine.write_text("for me alone")
"""


@pytest.fixture
def project(tmp_path):
    directory = tmp_path / "project"
    write(directory, train_py=TRAIN, package__model_py="ANSWER = 42", package__x_pyc="")
    (directory / ".gitignore").write_text("*.pyc\n")
    return directory


def test_a_command_runs_in_a_copy_of_its_own_which_goes_with_the_run(project):
    before = everything_in(project)
    script = f"test -e package/x.pyc && exit 9; {sys.executable} train.py"
    done = tfrun("--ship", "-w", 2, "--", script, cwd=project)
    assert done.returncode == 0, done.stderr
    shown = "42 False True"
    assert sorted(done.stdout.splitlines()) == [f"[worker:0] {shown}", f"[worker:1] {shown}"]
    assert everything_in(project) == before
    assert os.listdir(os.environ["TMPDIR"]) == []


def test_another_directory_and_single_files_beside_it(project, tmp_path):
    write(tmp_path, other__conf_yaml="rate: 1")
    files = (
        "--ship-file",
        tmp_path / "other/conf.yaml",
        "--ship-file",
        "other/conf.yaml:conf/b.yaml",
    )
    done = tfrun(
        f"--ship={project}", "-w", 1, *files, "--", "ls; cat conf.yaml conf/b.yaml", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    shown = [line.removeprefix("[worker:0] ") for line in done.stdout.splitlines()]
    assert shown == ["conf", "conf.yaml", "package", "train.py", "rate: 1rate: 1"]


def test_code_is_fetched_from_an_address_with_tls(tmp_path):
    certificate = make_certificate(tmp_path / "key", "IP:127.0.0.1")
    trusted = {"SSL_CERT_FILE": f"{certificate}.crt"}
    with web_server({"/hi.py": b"print('hi')"}, server_context(certificate)) as url:
        script = f"{sys.executable} hi.py"
        done = tfrun(f"--ship={url}/hi.py", "-w", 1, "--", script, env=trusted, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "[worker:0] hi\n"), done.stderr


def test_a_local_chief_runs_in_the_directory_itself(project):
    show = "echo {job_name} $(basename $(pwd)) $(basename $TFMESOS_SHIP_DIR)"
    done = tfrun(
        "--ship=project", "--chief", "--local-chief", "-w", 1, "--", show, cwd=project.parent
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "[worker:0] worker ship ship",
        "chief project project",
    ]


def test_a_job_file_may_say_it(project):
    job = f"ship: true\ncmd: {sys.executable} train.py\njobs: {{worker: {{num: 1}}}}\n"
    (project / "job.yaml").write_text(job)
    done = tfrun("job.yaml", cwd=project)
    assert (done.returncode, done.stdout) == (0, "[worker:0] 42 False True\n"), done.stderr


def test_python_may_say_it(project, monkeypatch, capfd):
    monkeypatch.chdir(project)
    job = {"name": "worker", "num": 1, "cmd": f"{sys.executable} train.py"}
    with cluster([job], ship=".", master="local") as running:
        running.wait()
    assert "[worker:0] 42 False True\n" in capfd.readouterr().out


def test_what_is_large_is_named(project):
    (project / "weights.bin").write_bytes(os.urandom(21 * 1024 * 1024))
    done = tfrun("--ship", "-w", 1, "--", "true", cwd=project)
    assert done.returncode == 0
    said, named = without_waits(done.stderr).split("; ", 1)
    assert names(said, "tfrun: shipping 4 files", "21.0 MB")
    assert names(named, "weights.bin (21 MB), train.py (")


@pytest.mark.parametrize(
    "args, code, message",
    [
        (["--ship=missing"], 66, "--ship 'missing' does not exist"),
        (["--ship=/dev/null"], 2, "--ship '/dev/null' is not a directory"),
        (["--ship="], 2, "--ship must name a directory, ... got ''"),
        (["--ship", "--ship-limit", "1K"], 2, "--ship-limit of 1 KB is exceeded; the largest"),
        (["--ship", "--ship-limit", "x"], 2, "--ship-limit must be ... MiB"),
        (["--ship", "--ship-file", "train.py"], 2, "--ship-file gives two files the name"),
        (["--ship-file", "missing"], 66, "--ship-file 'missing' does not exist"),
        (["--ship", "--cwd", "../x"], 2, "--cwd must be inside ... got '../x'"),
    ],
)
def test_what_cannot_be_shipped_is_one_line_and_starts_nothing(project, args, code, message):
    write(project, noise_bin=os.urandom(5000))
    done = tfrun(*args, "-w", 1, "--", "touch began", cwd=project)
    assert (done.returncode, done.stdout) == (code, "")
    said = without_waits(done.stderr)
    assert begins(said, f"tfrun: {message}") and said.count("\n") == 1
    assert os.listdir(os.environ["TMPDIR"]) == []


def test_a_link_that_leads_out_starts_nothing(project):
    (project / "link").symlink_to("/etc")
    done = tfrun("--ship", "-w", 1, "--", "true", cwd=project)
    problem = (
        "contains the link link, which points outside it, to /etc: leave it out with .tfignore"
    )
    said = without_waits(done.stderr)
    assert (done.returncode, said) == (2, f"tfrun: --ship {problem}\n")
