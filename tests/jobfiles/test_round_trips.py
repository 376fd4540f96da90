"""Our document -> a foreign one -> ours again: the same run, or a refusal that names the key."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.sentences import begins
from tfmesos.config.settings import DEFAULTS
from tfmesos.inputs.merging import make_config
from tfmesos.jobfiles.marathon import group as marathon
from tfmesos.jobfiles.native import checked, jobs_and_settings
from tfmesos.jobfiles.tfjob import document as tfjob
from tfmesos.jobfiles.translation import JobFileError

TASK = {"restart_policy": "task"}
EVERY = {**TASK, "retry_codes": "1-255", "restarts": "unlimited"}

references = st.sampled_from(["$(A)", "$$(A)", "x$(B_1)", "$$"])
texts = references | st.text(st.sampled_from("ab $(){}'\"\\-é\n"), min_size=1, max_size=8)
paths = st.text(st.sampled_from("ab/"), max_size=4).map("/x{}".format)
images = st.sampled_from(["me/train:1", "other"])
variables = st.dictionaries(st.sampled_from(["A", "B_1", "Z"]), texts, max_size=2)
cpus = st.integers(1, 5000).map(lambda thousandths: thousandths / 1000)
sizes = st.integers(32 * 4, 5000 * 4).map(lambda quarters: quarters / 4)  # MiB
texts_with_words = texts.filter(str.strip)
commands = texts_with_words | st.lists(texts, min_size=1, max_size=4)


def optional(**fields):
    return st.fixed_dictionaries({}, optional=fields)


def merged(*parts):
    return st.tuples(*parts).map(lambda found: {k: v for one in found for k, v in one.items()})


shapes = optional(
    cpus=cpus, mem=sizes, disk=sizes, env=variables, image=images, num=st.integers(1, 3)
)
whats = commands.map(lambda cmd: {"cmd": cmd}) | st.just({"serve": True})
volumes = st.lists(
    st.tuples(paths, paths, st.sampled_from(["", ":ro"])), unique_by=lambda v: v[1], max_size=2
).map(lambda found: [f"{host}:{path}{mode}" for host, path, mode in found])


def config(document):
    jobs, settings = jobs_and_settings(checked(copy.deepcopy(document)))
    return make_config(jobs, **{"master": "mesos:5050", **settings})


def run_of(document):
    """The configuration, with what the run says of all jobs said of each of them, by name."""
    whole = config(document)
    jobs = sorted((_told(job, whole) for job in whole.jobs), key=lambda job: job["name"])
    return whole.replace(jobs=(), env={}, image=None, cwd=None, cwd_is_given=False), jobs


def _told(job, whole):
    policy = whole.restarts.changed(job.restarts, job.restart_policy, job.retry_codes)
    return {
        **job._values(),
        "env": sorted(whole.env_of(job).items()),
        "image": whole.image_of(job),
        "cwd": (job.cwd or whole.cwd) if job.cwd or whole.cwd_is_given else None,
        "restarts": policy.limit if policy.after_start != "never" else None,
        "restart_policy": policy.after_start,
        "retry_codes": policy.codes if policy.after_start != "never" else None,
    }


def assert_same_run(one, other):
    (settings, jobs), (others, their_jobs) = run_of(one), run_of(other)
    assert jobs == their_jobs
    usual = {"restarts": settings.restarts, "containerizer": settings.containerizer or "MESOS"}
    assert settings.replace(**usual) == others.replace(
        **{**usual, "containerizer": others.containerizer or "MESOS"}
    )


# TFJob

policies = st.sampled_from([{}, EVERY, {**EVERY, "retry_codes": "128-255"}])
limited = st.integers(0, 9).map(lambda n: {**EVERY, "restarts": n})
gpus, ports, places = optional(gpus=st.integers(0, 2)), optional(port=st.integers(1, 65535)), paths
tf_jobs = merged(shapes, whats, policies, ports, optional(cwd=places))
tf_documents = merged(
    st.fixed_dictionaries(
        {
            "name": st.from_regex(r"[a-z]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True),
            "image": images,
            "jobs": merged(
                st.fixed_dictionaries({"worker": merged(tf_jobs, gpus)}),
                st.fixed_dictionaries({}, optional={"ps": tf_jobs}),
                st.sampled_from([{}, {"chief": {"cmd": "x"}}, {"master": {"cmd": ["y"]}}]),
                st.sampled_from([{}, {"evaluator": {"cmd": ["/bin/sh", "-c", "$(A)"]}}]),
            ),
        }
    ),
    optional(
        env=variables,
        volumes=volumes,
        cwd=places,
        force_pull_image=st.just(True),
        run_timeout=st.integers(1, 10**6),
    ),
    st.just({}) | limited,
)


def first_of_types(document):
    """A TFJob has one limit of restarts, and says of each type whether it is started again."""
    if "restarts" in document:
        for job in document["jobs"].values():
            for field in EVERY:
                job.pop(field, None)
    return document


@given(tf_documents.map(first_of_types))
def test_a_run_is_the_same_after_it_was_a_tfjob(document):
    tree = tfjob.from_ours(copy.deepcopy(document))
    tree = yaml.safe_load(yaml.safe_dump(tree, allow_unicode=True))
    found = tfjob.to_ours(tree)
    assert_same_run(document, found.document)


@pytest.mark.parametrize("success, workers", [("worker:0", 3), (None, 3), (None, 1)])
def test_who_decides_is_the_same_after_it_was_a_tfjob(success, workers):
    document = {"name": "a", "image": "x", "cmd": "x", "jobs": {"worker": {"num": workers}}}
    document |= {} if success is None else {"success": success}
    assert_same_run(document, tfjob.to_ours(tfjob.from_ours(document)).document)


OURS = {"name": "a", "image": "x", "cmd": "x", "jobs": {"worker": {"num": 2}}}


NOT_IN_A_TFJOB = [
    ({"name": "My job"}, "name ... lower-case letters, digits and -, ... 50"),
    ({"image": ""}, "image is missing"),
    ({"hang_timeout": 5}, "hang_timeout cannot be ... a TFJob"),
    ({"master": "m:5050"}, "master cannot be ... a TFJob"),
    ({"run_timeout": 1.5}, "run_timeout ... whole seconds ... got 1.5"),
    ({"success": "worker:1"}, "success ... worker:0 ... a TFJob"),
    ({"restart_policy": "all"}, "jobs.worker.restart_policy ... never or task ... a TFJob"),
    (TASK, "jobs.worker.retry_codes ... 1-255 or 128-255 ... a TFJob"),
    ({"restarts": 5}, "jobs.worker.restarts cannot be ... a TFJob"),
    ({"cmd": "x {task_index}"}, "jobs.worker.cmd has {task_index}: ... a TFJob"),
    ({"jobs": {"board": {}}}, "jobs.board cannot be ... a TFJob"),
    ({"jobs": {"ps": {"gpus": 1}}}, "jobs.ps.gpus must be 0 ... a TFJob"),
    ({"jobs": {"worker": {"cpus": 0.0001}}}, "jobs.worker.cpus ... 0.001"),
    ({"jobs": {"worker": {"mem": 33.3}}}, "jobs.worker.mem ... whole number of bytes"),
    ({"jobs": {"worker": {"port": "=1"}}}, "jobs.worker.port ... a number ... a TFJob"),
    ({"jobs": {"worker": {"constraints": ["a:UNIQUE"]}}}, "jobs.worker.constraints cannot be"),
    ({"jobs": {"worker": {"task_type": "ps"}}}, "jobs.worker.task_type must be worker"),
]


def refusal(changes):
    with pytest.raises(JobFileError) as caught:
        tfjob.from_ours({**OURS, **changes})
    return str(caught.value)


@pytest.mark.parametrize("changes, said", NOT_IN_A_TFJOB)
def test_what_a_tfjob_cannot_say_is_refused_by_its_key(changes, said):
    assert begins(refusal(changes), said)


@pytest.mark.parametrize("export", [tfjob.from_ours, marathon.from_ours])
@pytest.mark.parametrize("field", DEFAULTS)
def test_no_setting_gets_lost(export, field):
    """It is in what was written, or refused."""
    texts = dict.fromkeys(("name", "image", "user", "containerizer_type"), "docker")
    lists = {"volumes": ["/a:/b"], "constraints": ["rack:IS:1"]}
    others = {"env": {"X": "1"}, "cwd": "/x", "success": "worker:0", "retry_codes": "128-255"}
    usual = {**OURS, **(EVERY if field in EVERY else {})}
    values = {"restarts": 7, "restart_policy": "all", **texts, **lists, **others}
    try:
        written = export({**usual, field: values.get(field, True)})
    except JobFileError as error:
        assert error.key[-1] == field
    else:
        assert written != export(usual)


def test_kubectl_takes_what_is_written(tmp_path):
    if shutil.which("kubectl") is None:
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("there is no kubectl here: apt install kubernetes-client")
    document = {**OURS, "env": {"A": "$(B) é"}, "volumes": ["/data:/in:ro"], "run_timeout": 60}
    document |= {**EVERY, "restarts": 4}
    file = tmp_path / "tfjob.yaml"
    file.write_text(yaml.safe_dump(tfjob.from_ours(document)))
    words = ["kubectl", "label", "--local", "-f", file, "a=b", "-o", "yaml"]
    done = subprocess.run(words, capture_output=True, text=True, env={"HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    labelled = yaml.safe_load(done.stdout)
    assert labelled["metadata"].pop("labels") == {"a": "b"}
    assert_same_run(document, tfjob.to_ours(labelled).document)


# Marathon

constraints = st.sampled_from(["rack:LIKE:r.", "rack:CLUSTER:a:b", "hostname:UNLIKE:x"])
placeholders = st.sampled_from(["{worker_hosts}", "--i={task_index}", "<job_name>", "{ps_hosts}"])
marathon_whats = whats | st.lists(texts | placeholders, min_size=1).map(lambda cmd: {"cmd": cmd})
marathon_jobs = merged(
    shapes, marathon_whats, gpus, optional(constraints=st.lists(constraints, max_size=2))
)
marathon_documents = merged(
    st.fixed_dictionaries(
        {
            "name": st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True),
            "jobs": st.dictionaries(
                st.sampled_from(["worker", "ps", "tensorboard", "w2"]), marathon_jobs, min_size=1
            ),
        }
    ),
    optional(env=variables, user=st.just("me"), constraints=st.lists(constraints, max_size=1)),
    st.just({})
    | st.fixed_dictionaries(
        {"image": images},
        optional={
            "volumes": volumes,
            "force_pull_image": st.just(True),
            "containerizer_type": st.sampled_from(["MESOS", "docker"]),
        },
    ),
    st.just(EVERY),
)


@given(marathon_documents)
def test_a_run_is_the_same_after_it_was_a_marathon_group(document):
    tree = json.loads(json.dumps(marathon.from_ours(copy.deepcopy(document))))
    assert_same_run(document, marathon.to_ours(tree).document)
