"""tfrun without a run."""

import json
import signal
import subprocess
import sys

import pytest

from tests.commands import (
    environment,
    finish,
    lines,
    read_until,
    running_tfrun,
    tfrun,
)
from tfmesos.version import __version__


def test_dry_run_prints_what_would_be_sent_and_keeps_the_secret():
    done = tfrun(
        *(
            "-w",
            1,
            "-s",
            1,
            "--image",
            "me/train",
            "-C",
            "docker",
            "-V",
            "/a:/b:ro",
            "--dry-run=mesos",
        ),
        *("-m", "mesos-master", "-f", "-r", "ml", "-n", "my run", "--", "python", "x.py"),
    )
    assert done.returncode == 0
    sent = json.loads(done.stdout)
    assert sent["framework_info"]["name"] == "my run"
    assert sent["framework_info"]["roles"] == ["ml"]
    assert [info["name"] for info in sent["task_infos"]] == [
        "RUN/job:ps/task:0",
        "RUN/job:worker/task:0",
    ]
    container = sent["task_infos"][0]["container"]
    assert container["docker"]["image"] == "me/train"
    assert container["docker"]["force_pull_image"] is True
    assert {"host_path": "/a", "container_path": "/b", "mode": "RO"} in container["volumes"]
    variables = sent["task_infos"][0]["command"]["environment"]["variables"]
    secret = [v["value"] for v in variables if v["name"] == "TFMESOS_SECRET"]
    assert secret == ["(256 random bits)"]


def test_help_groups_the_flags_and_shows_three_examples():
    shown = tfrun("--help").stdout
    assert shown.count("    tfrun ") == 3
    for group in ("what to run:", "resources of each task:", "where to run it:", "what you see:"):
        assert group in shown


def test_version():
    assert tfrun("--version").stdout == f"tfmesos {__version__}\n"


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_in_good_order(number, code):
    script = 'trap "echo cleaning; exit 0" TERM; echo up; while :; do sleep 0.05; done'
    with running_tfrun("-w", 2, "--", "sh", "-c", script) as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        run.send_signal(number)
        out, err = finish(run)
    assert run.returncode == code
    assert lines(out) == ["[worker:0] cleaning", "[worker:1] cleaning"]
    assert "tfrun: " in err


def test_a_dry_run_that_nobody_reads_is_no_fault():
    dry_run = f"{sys.executable} -m tfmesos --dry-run=mesos -w 200 -- true"
    script = f"{dry_run} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment())
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("flags", ["--dry-run -w 1 -- true", "--help", "--version"])
def test_an_answer_that_cannot_be_written_ends_as_a_run_would(flags):
    script = f"{sys.executable} -m tfmesos {flags} > /dev/full"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment())
    assert done.returncode == 74 and "the output cannot be written: " in done.stderr


def test_dry_run_prints_the_objects_of_a_kubernetes_and_keeps_the_secret():
    done = tfrun("-w", 2, "-m", "k8s://", "--image", "i", "--dry-run=kubernetes", "--", "true")
    assert done.returncode == 0, done.stderr
    items = json.loads(done.stdout)["items"]
    assert [item["kind"] for item in items] == ["ConfigMap", "Secret", "Pod", "Pod"]
    assert items[1]["stringData"]["worker-0"] == "(256 random bits)"
    assert items[2]["spec"]["containers"][0]["image"] == "i"


@pytest.mark.parametrize(
    ("flags", "links", "address"),
    [((), "port-forward", ":28922"), (("--advertise", "1.2.3.4:5000"), "dial", "1.2.3.4:5000")],
)
def test_dry_run_shows_who_would_connect_to_whom(flags, links, address):
    where = ("-m", "k8s://", "--image", "i", "--dry-run=kubernetes")
    done = tfrun("-w", 1, *where, *flags, "--", "true")
    owner, secret, pod = json.loads(done.stdout)["items"]
    assert owner["data"]["links"] == links
    assert f" {address} " in f" {json.dumps(pod)} ".replace('"', " ")
    assert ("listen" in secret["stringData"]["stub"]) == (links == "port-forward")


@pytest.mark.parametrize(("form", "master"), [("mesos", "k8s://"), ("kubernetes", "mesos:5050")])
def test_dry_run_for_another_engine_than_that_of_the_run_is_refused(form, master):
    done = tfrun("-w", 1, "-m", master, "--image", "i", f"--dry-run={form}", "--", "true")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and f"--dry-run '{form}'" in done.stderr
