"""DC/OS TensorFlow's options.json: each key is honoured, warned of or refused, and none dropped."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.sentences import begins, names
from tfmesos.errors import SpecError
from tfmesos.inputs.resolve import config_of_call
from tfmesos.jobfiles.dcos import is_mine, to_ours
from tfmesos.jobfiles.formats import translate
from tfmesos.jobfiles.reading import read
from tfmesos.jobfiles.translation import Beside, JobFileError

PAGE = Path(__file__).parents[2] / "docs" / "dcos.rst"
SMALL = {"job_name": "train"}


def options(service=SMALL, **sections):
    return {"service": dict(service), **sections}


def ours(service=SMALL, **sections):
    return to_ours(options(service, **sections)).document


def remarks(service=SMALL, **sections):
    return list(to_ours(options(service, **sections)).remarks)


def problem(service=SMALL, **sections):
    """As the user reads it."""
    text = json.dumps(options(service, **sections), indent=1)
    with pytest.raises(JobFileError) as caught:
        translate(read(text.encode(), "options.json"))
    return re.sub(r":\d+: ", ": ", str(caught.value))


def test_what_the_file_leaves_out_is_as_on_dcos_but_for_user_and_image():
    usual = {"cpus": 1, "mem": 4096, "disk": 4096}
    assert ours() == {
        "name": "tensorflow",
        "entry": "train:main",
        "jobs": {
            "worker": {"num": 3, **usual, "port": 2222},
            "ps": {"num": 2, **usual, "port": 2223},
        },
    }
    assert remarks() == []


def test_a_whole_file_is_taken_over():
    service = {
        "name": "/dev/mnist",
        "user": "trainer",
        "job_url": " https://example.com/demos/archive/master.zip ",
        "job_path": "demos-master/mnist/",
        "job_name": "mnist",
        "job_context": '{"rate": 0.5, "steps": 100}',
        "shared_filesystem": "hdfs://default/mnist",
        "use_tensorboard": True,
        "use_gcs_key_secret": False,
        "tf_image": "me/tf",
        "gpu_tf_image": "me/tf-gpu",
    }
    disk = {"disk": 10, "disk_type": "ROOT"}
    made = ours(
        service,
        gpu_worker={"count": 2, "gpus": 4, "cpus": 2, "mem": 64, **disk},
        worker={"count": 3, "cpu": 0.5, "mem": 64, "port": 4000, **disk},
        parameter_server={"count": 1, "cpus": 0.5, "mem": 64, **disk},
        tensorboard={"cpus": 0.1, "mem": 32, "port": 6007},
    )
    board = made["jobs"].pop("tensorboard")
    assert made == {
        "name": "/dev/mnist",
        "user": "trainer",
        "image": "me/tf",
        "ship": "https://example.com/demos/archive/master.zip",
        "entry": "demos-master/mnist/mnist:main",
        "context": {"rate": 0.5, "steps": 100},
        "log_dir": "hdfs://default/mnist",
        "jobs": {
            "gpu_worker": {
                **{"num": 2, "gpus": 4, "cpus": 2, "mem": 64, "disk": 10},
                **{"task_type": "worker", "image": "me/tf-gpu"},
            },
            "worker": {"num": 3, "cpus": 0.5, "mem": 64, "disk": 10, "port": 4000},
            "ps": {"num": 1, "cpus": 0.5, "mem": 64, "disk": 10, "port": 2223},
        },
    }
    assert (board["num"], board["cpus"], board["mem"], board["port"]) == (1, 0.1, 32, 6007)
    assert board["cmd"].endswith("--logdir hdfs://default/mnist")


def test_the_older_files_say_ps():
    made = ours(ps={"count": 3, "port": 2224})
    assert (made["jobs"]["ps"]["num"], made["jobs"]["ps"]["port"]) == (3, 2224)


def test_no_task_of_a_section_is_no_job():
    made = ours(gpu_worker={"count": 1}, worker={"count": 0}, parameter_server={"count": 0})
    assert list(made["jobs"]) == ["gpu_worker"]


def test_a_context_may_be_an_object_too_and_an_empty_one_is_none():
    assert ours({**SMALL, "job_context": {"a": 1}})["context"] == {"a": 1}
    assert "context" not in ours({**SMALL, "job_context": " "})


def test_names_in_braces_are_filled_in_those_of_the_log_directory_on_the_node():
    service = {
        "name": "poets",
        "job_name": "poets",
        "job_url": "https://example.com/{{name}}.zip",
        "job_context": '{"args": ["{{ name }}", "{{shared_filesystem}}/x", "{{other}}"], "n": 5}',
    }
    made = to_ours(options(service))
    assert made.document["ship"] == "https://example.com/poets.zip"
    args = ["poets", "{{shared_filesystem}}/x", "{{other}}"]
    assert made.document["context"] == {"args": args, "n": 5}
    (remark,) = made.remarks
    assert names(remark, "other is not a key", "{{other}} stays")


def test_the_files_of_hadoop_are_sent_to_every_task():
    made = ours({**SMALL, "hdfs": {"config_uri": "http://hdfs/v1/endpoints/"}})
    assert made["env"] == {"HADOOP_CONF_DIR": "hadoop-conf"}
    assert made["ship_files"] == [
        "http://hdfs/v1/endpoints/core-site.xml:hadoop-conf/core-site.xml",
        "http://hdfs/v1/endpoints/hdfs-site.xml:hadoop-conf/hdfs-site.xml",
    ]


KERBEROS = {
    "enabled": True,
    "kdc": {"hostname": "kdc.dcos", "port": 2500},
    "primary": "tensorflow",
    "realm": "LOCAL",
    "keytab_secret": "ml/__dcos_base64__tensorflow_keytab",
}


def test_secrets_of_the_store_are_files_of_their_names():
    service = {**SMALL, "security": {"kerberos": KERBEROS}, "use_gcs_key_secret": True}
    made = to_ours(options(service))
    found = {key: made.document[key] for key in ("keytab", "krb5_principal", "gcs_key")}
    assert found == {
        "keytab": "tensorflow_keytab",
        "krb5_principal": "tensorflow@LOCAL",
        "gcs_key": "gcs_key",
    }
    gcs, *kerberos = made.remarks
    keytab, kdc = kerberos
    part = "service.security.kerberos."
    assert begins(gcs, "service.use_gcs_key_secret ... the file gcs_key ... the setting gcs_key")
    assert begins(keytab, f"{part}keytab_secret ... tensorflow_keytab ... the setting keytab")
    assert begins(kdc, f"{part}kdc kdc.dcos:2500 ... krb5.conf ... the setting krb5_conf")


def test_kerberos_that_is_not_enabled_asks_for_nothing():
    made = ours({**SMALL, "security": {"kerberos": {**KERBEROS, "enabled": False}}})
    assert made == ours()


PLACED = ["rack:LIKE:a|b", "hostname:MAX_PER:2"]


def test_placement_is_a_list_of_constraints():
    text = "hostname:UNIQUE, rack:LIKE:a|b"
    made = ours({**SMALL, "placement_constraint": text}, worker={"placement_constraint": text})
    expected = ["hostname:UNIQUE", "rack:LIKE:a|b"]
    assert (made["constraints"], made["jobs"]["worker"]["constraints"]) == (expected, expected)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("[]", None),
        (' [["hostname", "UNIQUE"]] ', ["hostname:UNIQUE"]),
        ('[["rack", "LIKE", "a|b"], ["hostname", "MAX_PER", "2"]]', PLACED),
        ('["rack", "CLUSTER", "a"]', ["rack:CLUSTER:a"]),
    ],
)
def test_placement_may_be_json_as_the_later_packages_write_it(text, expected):
    made = ours({**SMALL, "placement_constraint": text}, worker={"placement_constraint": text})
    found = made.get("constraints"), made["jobs"]["worker"].get("constraints")
    assert found == (expected, expected)


def test_kerberos_without_a_primary_is_that_of_the_package():
    kerberos = {name: value for name, value in KERBEROS.items() if name != "primary"}
    made = ours({**SMALL, "security": {"kerberos": kerberos}})
    assert made["krb5_principal"] == "tensorflow@LOCAL"


BOARD = {**SMALL, "use_tensorboard": True}


@pytest.mark.parametrize("service", [BOARD, {**BOARD, "shared_filesystem": "/of/the/file"}])
def test_a_log_directory_beside_the_file_is_that_of_tensorboard_too(service):
    made = to_ours(options(service), Beside(log_dir="/my logs"))
    assert made.document["jobs"]["tensorboard"]["cmd"].endswith("--logdir '/my logs'")
    assert made.remarks == ()


@pytest.mark.parametrize(
    "service, sections, key",
    [
        ({"hdfs": {"config_uri": "/nowhere"}}, {}, "service.hdfs.config_uri"),
        ({"job_url": "/nowhere/y.zip"}, {}, "service.job_url"),
        ({}, {"worker": {"cpu": -1}}, "worker.cpu"),
        ({}, {"worker": {"port": 99999}}, "worker.port"),
        ({}, {"worker": {"mem": 1}}, "worker.mem"),
    ],
)
def test_an_error_that_is_found_later_names_the_key_of_the_file(tmp_path, service, sections, key):
    file = tmp_path / "options.json"
    file.write_text(json.dumps(options({**SMALL, **service}, **sections), indent=1))
    with pytest.raises(SpecError) as caught:
        config_of_call(file, {})
    assert re.match(rf"{re.escape(str(file))}:\d+: {re.escape(key)} ", str(caught.value))


WITHOUT_MEANING = [
    ({"user": "root"}, "service.user root ... the setting user"),
    ({"user": "nobody"}, "service.user nobody ... the setting user"),
    (
        {"tf_image": "mesosphere/dcos-tensorflow:v1.3"},
        "service.tf_image ... older than 3.8: ... an empty image",
    ),
    ({"use_tensorboard": True}, "service.use_tensorboard ... shared_filesystem"),
    (
        {"virtual_network_enabled": True, "virtual_network_name": "dcos"},
        "service.virtual_network_enabled has no effect ... network",
    ),
    ({"log_level": "INFO"}, "service.log_level has no effect ... the setting logs"),
    (
        {"service_account": "me"},
        "service.service_account has no effect ... the settings principal and token_file",
    ),
    (
        {"security": {"transport_encryption": {"enabled": True}}},
        "service.security.transport_encryption has no effect ... TLS",
    ),
]


@pytest.mark.parametrize("service, words", WITHOUT_MEANING)
def test_what_has_no_meaning_here_is_one_warning(service, words):
    (remark,) = remarks({**SMALL, **service})
    assert begins(remark, words)


def test_a_disk_of_its_own_is_a_warning_for_each_section():
    found = remarks(worker={"disk_type": "MOUNT"}, parameter_server={"disk_type": "ROOT"})
    (remark,) = found
    assert begins(remark, "worker.disk_type MOUNT has no effect ... sandbox")


WRONG_SERVICES = [
    ({"job_name": ""}, "service.job_name is missing: ... module"),
    ({"job_name": "a.py b"}, "service.job_name ... without .py, got 'a.py b'"),
    ({"job_path": "../x"}, "service.job_path ... inside ... job_url, got '../x'"),
    ({"job_path": "/x"}, "service.job_path ... inside ... job_url, got '/x'"),
    ({"job_context": "{'a': 1}"}, "service.job_context ... JSON object, but "),
    ({"job_context": "[1]"}, "service.job_context ... JSON object, got [1]"),
    ({"job_context": '{"a":' + "[" * 100_000}, "service.job_context ... JSON object, but "),
    ({"job_context": 5}, "service.job_context must be a string, got 5"),
    ({"shared_filesystem": "logs"}, "service.shared_filesystem ... absolute path or a URL"),
    ({"job_nam": "x"}, "service.job_nam is unknown ... job_name?"),
    ({"gcs_key": "{}"}, "service.gcs_key ... job file: ... the setting gcs_key"),
    (
        {"security": {"kerberos": {"enabled": True, "primary": "me"}}},
        "service.security.kerberos.realm is missing",
    ),
    ({"use_tensorboard": "yes"}, "service.use_tensorboard ... true or false, got 'yes'"),
]


@pytest.mark.parametrize("service, words", WRONG_SERVICES)
def test_what_is_wrong_is_one_line_with_its_key(service, words):
    assert begins(problem({**SMALL, **service}), f"options.json: {words}")


WRONG_SECTIONS = [
    ({"worker": {"count": "2"}}, "worker.count ... whole number, got '2'"),
    ({"worker": {"memory": 5}}, "worker.memory is unknown ... mem?"),
    ({"worker": {"count": 0}}, "worker.count and gpu_worker.count are 0"),
    ({"tensorboard": {"hots": 1}}, "tensorboard.hots is unknown"),
    ({"workers": {}}, "workers is unknown ... worker?"),
    ({"worker": {"cpu": 1, "cpus": 1}}, "worker.cpu and cpus mean the same"),
    ({"ps": {"count": 1}, "parameter_server": {"count": 2}}, "ps and parameter_server mean"),
    (
        {"worker": {"placement_constraint": "hostname:UNIK"}},
        "worker.placement_constraint ... 'UNIK'",
    ),
    (
        {"worker": {"placement_constraint": '[["hostname", 5]]'}},
        "worker.placement_constraint ... hostname:UNIQUE or ",
    ),
    (
        {"worker": {"placement_constraint": '[["hostname'}},
        "worker.placement_constraint ... hostname:UNIQUE or ",
    ),
    ({"worker": 5}, "worker must be ... got 5"),
]


@pytest.mark.parametrize("sections, words", WRONG_SECTIONS)
def test_a_wrong_section_is_one_line_with_its_key(sections, words):
    assert begins(problem(**sections), f"options.json: {words}")


def test_only_a_document_with_a_service_and_no_jobs_of_ours_is_one_of_dcos():
    assert is_mine(options())
    assert not is_mine({"jobs": {}, "service": {}})
    assert not is_mine({"service": "x"})
    assert not is_mine({"jobs": {}})


def test_the_page_of_the_documentation_names_every_key():
    """Every key that a file may have: those that a part was asked for."""
    page, names = PAGE.read_text(), set()
    text = Path(to_ours.__code__.co_filename).read_text()
    names |= set(re.findall(r"\.(?:text|whole|number|flag|part)\(\"(\w+)\"\)", text))
    names |= set(re.findall(r"^ +(\w+)=", text, re.M))
    assert len(names) > 30
    assert {
        name for name in names if f"``{name}``" not in page and f".{name}``" not in page
    } == set()


def test_the_example_of_the_page_runs_without_a_warning():
    block = PAGE.read_text().partition(".. code:: json\n\n")[2]
    example = json.loads(block.partition("\n\n")[0])
    made = to_ours(example)
    assert list(made.document["jobs"]) == ["worker", "ps", "tensorboard"]
    assert made.remarks == ()
