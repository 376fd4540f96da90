"""What would run, in words and as a document that means the same run."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfmesos.cli.arguments import parse
from tfmesos.cli.dry_run import shown
from tfmesos.cli.flag_inputs import inputs_of
from tfmesos.inputs.merging import make_config
from tfmesos.jobfiles.native import checked, jobs_and_settings
from tfmesos.jobfiles.reading import read

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
TRICKY = ["no", "1e3", "010", "12:30", "null", "~", "=5", "<<", "# x", "a: b", "- a", "2026-01-31"]
TEXTS = st.one_of(st.sampled_from(TRICKY), WORDS).filter(str.strip)
COMMANDS = st.one_of(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
ENV = st.dictionaries(st.from_regex(r"[A-Z_]{1,3}", fullmatch=True), TEXTS, max_size=2)
AMOUNTS = st.one_of(st.integers(64, 4096), st.sampled_from(["2G", "512M", 64.5]))
JOBS = st.fixed_dictionaries(
    {},
    optional={
        "num": st.integers(1, 3),
        "cpus": st.sampled_from([1, 0.5, 2.25]),
        "mem": AMOUNTS,
        "gpus": st.integers(0, 2),
        "disk": AMOUNTS,
        "cmd": COMMANDS,
        "image": st.sampled_from(["", "me/train:1"]),
        "env": ENV,
        "cwd": st.just("/data"),
        "port": st.sampled_from([2222, "2222"]),
        "reserve_port": st.booleans(),
        "constraints": st.just(["hostname:UNIQUE"]),
        "task_type": st.sampled_from(["worker", "ps"]),
        "restarts": st.integers(0, 3),
    },
)
DOCUMENTS = st.fixed_dictionaries(
    {
        "name": TEXTS,
        "cmd": COMMANDS,
        "jobs": st.dictionaries(st.sampled_from(["ps", "worker", "a"]), JOBS, min_size=1),
    },
    optional={
        "master": st.sampled_from(["local", "mesos:5050", "10.0.0.1"]),
        "image": st.just("me/train"),
        "env": ENV,
        "hang_timeout": st.sampled_from(["5m", 90, 0.5]),
        "retry_codes": st.sampled_from(["1-3", [5, 6], "7"]),
        "tf_config": st.just("always"),
        "logs": st.just("none"),
        "reserve_port": st.booleans(),
        "extra_config": st.just({"initializer": "true # no"}),
    },
)


def config_of_document(document):
    jobs, given_settings = jobs_and_settings(checked(document))
    return make_config(jobs, **given_settings)


@pytest.fixture
def no_environment(monkeypatch):
    for name in ("MESOS_MASTER", "DOCKER_IMAGE", "MESOS_PRINCIPAL", "MESOS_SECRET_FILE"):
        monkeypatch.delenv(name, raising=False)


@given(DOCUMENTS)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50
)
def test_the_document_of_a_run_means_the_same_run(no_environment, document):
    config = config_of_document(document)
    for form in ("yaml", "words"):
        text = shown(form, config, checked(document))
        assert config_of_document(read(text.encode(), "again.yaml").value) == config


def dry(form, *argv):
    args = parse([*argv])
    inputs = inputs_of(args)
    return shown(form, inputs.config(), inputs.document)


def test_the_flags_of_a_command_line_become_a_job_file(no_environment):
    text = dry("yaml", "-w", "2", "-Mw", "2G", "-n", "mnist", "--env", "A=no", "--", "a", "b c")
    assert text == (
        "name: mnist\ncmd:\n- a\n- b c\njobs:\n  worker:\n    num: 2\n    mem: 2G\n"
        "env:\n  A: 'no'\n"
    )


def test_the_words_name_kubernetes(no_environment):
    words = dry("words", "-w", "1", "-m", "k8s://lab/ml", "--image", "tf", "--", "true")
    assert "# 1 task on Kubernetes at k8s://lab/ml\n" in words


def test_the_words_say_who_runs_what_where_and_with_what(no_environment):
    flags = ("-w", "2", "--job", "board=1", "--env", "A=b c", "--cwd", "/data", "--chief")
    words = dry("words", *flags, "--serve", "board", "-m", "mesos:5050", "--", "python", "x y.py")
    assert [line[2:] for line in words.splitlines() if line.startswith("#")] == [
        "4 tasks on Mesos at mesos:5050",
        "worker:0 to worker:1, each with cpus 1, mem 1024",
        "    runs python 'x y.py'",
        "    in /data",
        "    with A='b c'",
        '    worker:0 with TF_CONFIG={"cluster":{"worker":["HOST:PORT","HOST:PORT"],'
        '"chief":["HOST:PORT"]},"task":{"type":"worker","index":0}}',
        "chief:0 with cpus 1, mem 1024",
        "    runs python 'x y.py'",
        "    in /data",
        "    with A='b c'",
        '    chief:0 with TF_CONFIG={"cluster":{"worker":["HOST:PORT","HOST:PORT"],'
        '"chief":["HOST:PORT"]},"task":{"type":"chief","index":0}}',
        "board:0 with cpus 1, mem 1024",
        "    runs a TensorFlow server",
        "    in /data",
        "    with A='b c'",
    ]


def test_no_command_can_end_a_comment(no_environment):
    words = dry("words", "-w", "1", "--", "echo a\nevil: 1\x1b[2J")
    assert "\x1b" not in words and read(words.encode(), "a.yaml").value["jobs"]
    assert "evil" not in read(words.encode(), "a.yaml").value


def test_what_the_environment_says_is_part_of_the_document(no_environment, monkeypatch):
    monkeypatch.setenv("MESOS_MASTER", "zk://me:hush@zoo/mesos")
    text = dry("yaml", "-w", "1", "--", "true")
    assert text.startswith("master: zk://***@zoo/mesos\n")


def test_a_run_is_exported_to_other_systems(no_environment):
    flags = ("-w", "1", "-n", "mnist", "--image", "me/train", "--", "true")
    assert read(dry("tfjob", *flags).encode(), "t.yaml").value["kind"] == "TFJob"
    assert read(dry("marathon", *flags).encode(), "m.json").value["apps"]
    assert read(dry("mesos", *flags).encode(), "m.json").value["task_infos"]
