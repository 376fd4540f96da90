from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.shared import task_variables as command

CLUSTER = {"ps": ["a:1"], "worker": ["b:2", "c:3"], "evaluator": ["d:4"]}
NAMES = st.text(string.ascii_lowercase + "_", min_size=1, max_size=8)


def fill(text: str, job: str = "worker", index: int = 1) -> str:
    return command.substitute(text, command.placeholders(CLUSTER, job, index))


@pytest.mark.parametrize(
    "text, filled",
    [
        ("--ps_hosts={ps_hosts}", "--ps_hosts=a:1"),
        ("--worker_hosts=<worker_hosts>", "--worker_hosts=b:2,c:3"),
        ("{job_name}:{task_index}", "worker:1"),
        ("<job_name>:<task_index>", "worker:1"),
        ("{evaluator_hosts}", "d:4"),
        ("{{ps_hosts}}", "{a:1}"),
        ("awk '{print $1}' <in >out", "awk '{print $1}' <in >out"),
        ('{"a": {"b": "{job_name}"}}', '{"a": {"b": "worker"}}'),
        (
            "{nobody_hosts} {} {0} {ps_hosts!r} {ps_hosts>",
            "{nobody_hosts} {} {0} {ps_hosts!r} {ps_hosts>",
        ),
    ],
)
def test_placeholders_are_filled_and_other_braces_stay(text, filled):
    assert fill(text) == filled


def test_jobs_that_are_not_there_have_no_hosts():
    values = command.placeholders({"chief": ["a:1"]}, "chief", 0)
    text = command.substitute("[{ps_hosts}][{worker_hosts}][{chief_hosts}]", values)
    assert text == "[][][a:1]"


@given(st.text(alphabet="{}<>abc_ $'\"\\\n"))
def test_text_without_a_placeholder_is_never_changed(text):
    assert fill(text) == text


@given(
    st.lists(st.one_of(st.text(alphabet="{}<> $x"), st.sampled_from(["{ps_hosts}", "<ps_hosts>"])))
)
def test_filling_is_the_same_as_replacing_each_placeholder(parts):
    text = "".join(parts)
    assert fill(text) == text.replace("{ps_hosts}", "a:1").replace("<ps_hosts>", "a:1")


@given(st.dictionaries(NAMES, st.lists(st.just("{job_name}"), max_size=2), max_size=4))
def test_what_was_filled_in_is_not_filled_again(cluster):
    values = command.placeholders(cluster, "worker", 0)
    for name, hosts in cluster.items():
        assert command.substitute("{" + name + "_hosts}", values) == ",".join(hosts)


def test_a_list_is_executed_as_it_is_and_a_string_by_the_shell():
    values = command.placeholders(CLUSTER, "ps", 0)
    assert command.argv(["echo", "{job_name}", "a b"], values) == ["echo", "ps", "a b"]
    assert command.argv("echo {job_name} | cat", values) == ["/bin/sh", "-c", "echo ps | cat"]


def test_tf_config_names_the_cluster_without_the_evaluator():
    assert json.loads(command.tf_config(CLUSTER, "worker", 1) or "") == {
        "cluster": {"ps": ["a:1"], "worker": ["b:2", "c:3"]},
        "task": {"type": "worker", "index": 1},
    }


def test_the_evaluator_is_told_that_it_is_one():
    config = json.loads(command.tf_config(CLUSTER, "evaluator", 0) or "")
    assert config["task"] == {"type": "evaluator", "index": 0}
    assert "evaluator" not in config["cluster"]


def test_a_run_of_a_single_task_has_no_tf_config():
    cluster = {"worker": ["a:1"], "ps": []}
    assert command.tf_config(cluster, "worker", 0) is None
    assert "TF_CONFIG" not in command.environment(cluster, "worker", 0)


def test_a_task_that_tensorflow_does_not_know_is_no_part_of_tf_config_and_has_none():
    cluster = {"worker": ["b:2", "c:3"], "tensorboard": ["e:5"]}
    config = json.loads(command.tf_config(cluster, "worker", 1) or "")
    assert config["cluster"] == {"worker": ["b:2", "c:3"]}
    assert command.tf_config(cluster, "tensorboard", 0) is None
    assert command.tf_config({**cluster, "worker": ["b:2"]}, "worker", 0) is None


SHARED = {"ps": ["a:1"], "worker": ["b:2", "c:3", "b:4"], "chief": ["b:1"]}


@pytest.mark.parametrize(
    "job, index, rank",
    [("chief", 0, "0"), ("worker", 0, "1"), ("worker", 1, "2"), ("worker", 2, "3")],
)
def test_chief_and_workers_have_a_rank_and_each_is_a_node_of_its_own(job, index, rank):
    found = command.ranks(SHARED, job, index)
    assert {name: value for name, value in found.items() if not name.startswith("KERAS_")} == {
        "RANK": rank,
        "WORLD_SIZE": "4",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "NODE_RANK": rank,
        "GROUP_RANK": rank,
        "MASTER_ADDR": "b",
        "MASTER_PORT": "1",
        "JAX_COORDINATOR_ADDRESS": "b:1",
        "JAX_NUM_PROCESSES": "4",
        "JAX_PROCESS_ID": rank,
    }


def test_a_task_alone_is_process_0_of_1():
    alone = command.ranks({"worker": ["a:1"]}, "worker", 0)
    names = ("RANK", "WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT")
    assert [alone[name] for name in names] == ["0", "1", "0", "a", "1"]


def test_keras_finds_all_addresses_process_0_first():
    found = command.ranks(SHARED, "worker", 1)
    assert {name: value for name, value in found.items() if name.startswith("KERAS_")} == {
        "KERAS_DISTRIBUTION_JOB_ADDRESSES": "b:1,b:2,c:3,b:4",
        "KERAS_DISTRIBUTION_NUM_PROCESSES": "4",
        "KERAS_DISTRIBUTION_PROCESS_ID": "2",
    }


def test_only_chief_and_workers_of_a_whole_cluster_have_a_rank():
    assert command.ranks(SHARED, "ps", 0) == {}
    assert "RANK" not in command.environment({"worker": ["a:1", "b:2"]}, "worker", 1, {"worker": 1})
    assert command.ranks({"worker": ["[::1]:5", "[::1]:6"]}, "worker", 1)["MASTER_ADDR"] == "::1"


def test_a_task_of_a_cluster_that_is_partly_its_users_knows_its_own_address():
    env = command.environment({"worker": ["b:2", "c:3"]}, "worker", 2, {"worker": 1})
    assert (env["TFMESOS_HOST"], env["TFMESOS_PORT"]) == ("c", "3")


def test_the_environment_tells_a_task_who_it_is_and_who_the_others_are():
    assert command.environment(CLUSTER, "worker", 1) == {
        **command.ranks(CLUSTER, "worker", 1),
        "TFMESOS_HOST": "c",
        "TFMESOS_PORT": "3",
        "PYTHONUNBUFFERED": "1",
        "TFMESOS_PS_HOSTS": "a:1",
        "TFMESOS_WORKER_HOSTS": "b:2,c:3",
        "TFMESOS_JOB_NAME": "worker",
        "TFMESOS_TASK_INDEX": "1",
        "TFMESOS_DISTRIBUTED": "1",
        "TF_CONFIG": command.tf_config(CLUSTER, "worker", 1),
    }


def test_the_later_environment_wins_and_none_removes():
    assert command.merged({"A": "1", "B": "1"}, {"B": "2", "A": None}, {"C": "3"}) == {
        "B": "2",
        "C": "3",
    }


def test_a_single_task_has_a_tf_config_if_it_is_always_wanted_but_not_for_half_a_cluster():
    cluster = {"worker": ["h:1"]}
    config = json.loads(command.tf_config(cluster, "worker", 0, always=True) or "")
    assert config == {"cluster": cluster, "task": {"type": "worker", "index": 0}}
    assert command.tf_config(cluster, "worker", 0, is_whole=False, always=True) is None
