"""The containers we ask Mesos for, byte for byte, and against what a genuine one has taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import servers, workers
from tests.engines.mesos.offers import an_offer
from tfmesos.config.launch_config import LaunchConfig
from tfmesos.config.volumes import parse_volumes
from tfmesos.engines.mesos.containers import choice, doubtful_gpus
from tfmesos.engines.mesos.placement import place
from tfmesos.engines.mesos.preview import preview
from tfmesos.engines.mesos.runner_command import runner_command
from tfmesos.engines.mesos.task_info import framework_info, task_info
from tfmesos.inputs.merging import make_config
from tfmesos.launcher.links.messages import prepare_message, stub_settings

HERE = Path(__file__).parents[2]
GOLDEN = HERE / "golden"
RECORDED = HERE / "mesos" / "embedded" / "tests" / "transcripts"
VOLUMES = parse_volumes(["/nfs/mnist:/nfs/mnist", "/data:/in:ro"])
NAMED_GPUS = {"name": "gpus", "type": "SET", "set": {"item": ["GPU-a", "GPU-b"]}, "role": "*"}


def a_config(gpus=0, **fields):
    fields = {"master": "m", **fields}
    return LaunchConfig(jobs=(workers(1, gpus=gpus),), user="me", **fields)


CASES = {
    "plain": (a_config(), an_offer()),
    "plain-gpus-by-name": (a_config(2), an_offer(more=[NAMED_GPUS])),
    "mesos": (a_config(image="me/train"), an_offer()),
    "mesos-force-pull": (a_config(image="me/train", force_pull_image=True), an_offer()),
    "mesos-volumes": (a_config(image="me/train", volumes=VOLUMES), an_offer()),
    "mesos-gpus": (a_config(2, image="me/train"), an_offer(gpus=4)),
    "mesos-gpus-by-name": (a_config(1, image="me/train"), an_offer(more=[NAMED_GPUS])),
    "docker": (a_config(image="me/train", containerizer="DOCKER"), an_offer()),
    "docker-everything": (
        a_config(
            image="me/train",
            containerizer="DOCKER",
            force_pull_image=True,
            volumes=VOLUMES,
            task_user="alice",
        ),
        an_offer(),
    ),
    "docker-gpus": (a_config(2, image="me/train", containerizer="DOCKER"), an_offer(gpus=4)),
    "docker-gpu-by-name": (
        a_config(1, image="me/train", containerizer="DOCKER"),
        an_offer(more=[NAMED_GPUS]),
    ),
    "docker-gpus-by-name": (
        a_config(2, image="me/train", containerizer="DOCKER"),
        an_offer(more=[NAMED_GPUS]),
    ),
}


def as_sent(config, offer):
    (found,) = place(config.tasks, [offer]).loads
    (seat,) = found.seats
    settings = stub_settings("run", "10.0.0.1:31000", "run-worker-0-1", None)
    command = runner_command(config, config.jobs[0], settings, "0" * 64)
    return task_info(config, "run", "run-worker-0-1", "agent-1", seat, command)


def in_full_and_in_short(name):
    """As it is sent, and without the text of the stub, whose changes are not of interest."""
    sent = as_sent(*CASES[name])
    command = {key: value for key, value in sent["command"].items() if key != "value"}
    return sent, {**sent, "command": command}


def assert_golden(name, value):
    assert json.loads((GOLDEN / f"{name}.json").read_text()) == value


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_container_is_asked_for_as_written_down(name):
    sent, short = in_full_and_in_short(name)
    assert sent["command"]["value"].startswith("exec python3 -I -S -c ")
    assert_golden(name, short)


@pytest.mark.parametrize("name", CASES)
def test_a_task_costs_the_master_as_many_bytes_as_written_down(name):
    """To a few: not every zlib makes the same of the stub."""
    size = len(json.dumps(in_full_and_in_short(name)[0]))
    print(f"{name}: a TaskInfo of {size} bytes")
    expected = json.loads((GOLDEN / "task-sizes.json").read_text())[name]
    assert abs(size - expected) <= 64, f"{size} bytes now: mind what every task costs the master"


def test_a_genuine_mesos_has_run_containers_of_every_form_that_we_ask_for():
    taken = set()
    for path in RECORDED.glob("17*.jsonl"):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        taken |= {form for container in taken_containers(records) for form in forms(container)}
    asked = [json.loads((GOLDEN / f"{name}.json").read_text()) for name in CASES]
    forms_asked = {form for info in asked for form in forms(info.get("container", {}))}
    assert len(forms_asked) > 20 and forms_asked <= taken


def taken_containers(records):
    """The containers of the recorded tasks that came to run."""
    ran = {
        record["event"]["update"]["status"]["task_id"]["value"]
        for record in records
        if record["dir"] == "event" and record["event"]["type"] == "UPDATE"
        if record["event"]["update"]["status"]["state"] == "TASK_RUNNING"
    }
    calls = (r["body"] for r in records if r["dir"] == "request" and isinstance(r["body"], dict))
    for call in calls:
        for operation in call.get("accept", {}).get("operations", []):
            for info in operation["launch"]["task_infos"]:
                if info["task_id"]["value"] in ran:
                    yield info["container"]


def forms(value, path=""):
    """Each field there is, with the type of what it holds, or its value if that is a choice."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from forms(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from forms(inner, f"{path}[]")
    else:
        is_choice = path.rpartition(".")[2] in ("type", "mode", "network")
        yield path, value if is_choice else type(value).__name__
    yield path, type(value).__name__


# The container command lines of TFMesos's README: what each asks the Mesos there for.

IN_THE_IMAGE = {"MESOS_MASTER": "mesos-master:5050", "DOCKER_IMAGE": "tfmesos/tfmesos"}


@pytest.mark.parametrize(
    "name, jobs",
    [
        ("readme-plus", [servers(2, cmd=None), workers(2, cmd=None)]),
        ("readme-fine-grained-gpus", [servers(2, cmd=None), workers(2, cmd=None, gpus=1)]),
    ],
)
def test_the_fine_grained_commands_of_the_readme_ask_for_their_containers(monkeypatch, name, jobs):
    for key, value in {**IN_THE_IMAGE, "LOGNAME": "me"}.items():
        monkeypatch.setenv(key, value)
    assert_golden(name, in_short(preview(make_config(jobs, name="readme"), "here")))


def in_short(sent):
    """Of each task only where it runs and with what."""
    shown = ("name", "resources", "container")
    return {
        "master": sent["master"],
        "user": sent["framework_info"]["user"],
        "tasks": [{key: info[key] for key in shown} for info in sent["task_infos"]],
    }


# What is said about it, and what the tasks are told:


def test_the_containerizer_is_shown_when_nobody_chose_it():
    assert "by the Mesos containerizer" in choice(a_config(image="i"), str)
    assert choice(a_config(image="i", containerizer="DOCKER"), str) == ""
    assert choice(a_config(), str) == ""


def test_gpus_given_by_number_to_docker_are_warned_of_and_others_are_not():
    def said(name):
        config, offer = CASES[name]
        (found,) = place(config.tasks, [offer]).loads
        return doubtful_gpus(config, found.seats, str)

    assert "Docker itself picks the GPUs" in said("docker-gpus")
    for name in ("docker", "docker-gpus-by-name", "mesos-gpus", "plain-gpus-by-name"):
        assert said(name) == ""


def test_a_framework_runs_its_tasks_as_the_user_that_was_named():
    assert framework_info(a_config(), "run", "host")["user"] == "me"
    assert framework_info(a_config(task_user="alice"), "run", "host")["user"] == "alice"


def test_a_task_without_gpus_sees_none_and_one_with_gpus_sees_those_of_its_agent():
    jobs = (servers(1), workers(1, gpus=1))
    config = LaunchConfig(jobs=jobs, inherited_env={"CUDA_VISIBLE_DEVICES": "7"})
    ps, worker = (prepare_message(config, task)["env"] for task in config.tasks)
    assert ps["CUDA_VISIBLE_DEVICES"] == "" and "CUDA_VISIBLE_DEVICES" not in worker


@pytest.mark.parametrize(
    "fields, words",
    [
        ({}, "its node lacks the NVIDIA driver"),
        ({"image": "i"}, "an image that sets NVIDIA_VISIBLE_DEVICES"),
        ({"image": "i", "containerizer": "DOCKER"}, "needs the NVIDIA Container Toolkit"),
        ({"image": "i", "master": "k8s://"}, "the NVIDIA Container Toolkit"),
    ],
)
def test_a_gpu_that_cannot_be_seen_has_its_reason_told(fields, words):
    config = a_config(1, **fields)
    assert words in prepare_message(config, config.tasks[0])["no_gpu"]
    assert prepare_message(a_config(), a_config().tasks[0])["no_gpu"] is None
