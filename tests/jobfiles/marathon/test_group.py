"""Groups of Marathon as documents of ours."""

from __future__ import annotations

import json

import pytest

from tests.sentences import begins, names
from tfmesos.config import tensorboard
from tfmesos.errors import SpecError
from tfmesos.inputs.resolve import config_of_call
from tfmesos.jobfiles.marathon.group import from_ours, is_mine, to_ours
from tfmesos.jobfiles.native import checked
from tfmesos.jobfiles.translation import JobFileError

from .groups import group

ALWAYS = {"restart_policy": "task", "retry_codes": "1-255", "restarts": "unlimited"}
ARGS = [
    *("--worker_hosts", "{worker_hosts}", "--ps_hosts", "{ps_hosts}"),
    *("--job_name", "{job_name}", "--task_index", "{task_index}", "--train_dir", "/train"),
]


def an_app(**fields):
    return {"id": "worker-0", "cmd": "python x", "cpus": 1, "mem": 64, **fields}


def of(*apps):
    return {"id": "/mnist", "apps": list(apps)}


def test_the_apps_of_the_template_become_one_run():
    assert to_ours(group(image="me/train")).document == {
        "name": "mnist",
        "image": "me/train",
        **ALWAYS,
        "jobs": {
            "worker": {"num": 3, "cpus": 2, "mem": 4096, "args": ARGS},
            "ps": {"num": 2, "cpus": 2, "mem": 4096, "args": ARGS},
            "tensorboard": {
                "num": 1,
                "cpus": 2,
                "mem": 4096,
                "port": 6006,
                "cmd": "at={tensorboard_hosts}; exec env "
                'TMPDIR="${TFMESOS_TASK_DIR:-$MESOS_SANDBOX}" tensorboard '
                '--host "${at%:*}" --port "${at##*:}" --logdir /train',
            },
        },
    }


def test_without_tensorboard_it_is_left_out():
    assert list(to_ours(group(tensorboard=False)).document["jobs"]) == ["worker", "ps"]


def test_without_an_image_the_arguments_are_the_command():
    app = an_app(args=["python", "train.py", "--job_name=worker", "--task_index=0"])
    del app["cmd"]
    assert to_ours(of(app)).document["jobs"]["worker"]["cmd"] == [
        *("python", "train.py", "--job_name={job_name}", "--task_index={task_index}")
    ]


def test_an_app_without_arguments_runs_what_its_image_does():
    document = to_ours(of(an_app(cmd=None, args=[], container={"docker": DOCKER}))).document
    assert (document["image"], document["jobs"]["worker"]["args"]) == ("x", [])


def test_arguments_that_begin_with_a_flag_want_an_entry_point_even_without_an_image():
    assert to_ours(group()).document["jobs"]["worker"]["args"] == ARGS


def test_the_flags_in_the_command_of_a_shell_get_placeholders_too():
    cmd = "python t.py --worker_hosts=a:1,b:2 --job_name worker --task_index {} > log"
    apps = [an_app(id=f"w-{i}", cmd=cmd.format(i)) for i in (1, 0)]
    assert to_ours(of(*apps)).document["jobs"] == {
        "worker": {
            "num": 2,
            "cpus": 1,
            "mem": 64,
            "cmd": "python t.py --worker_hosts={worker_hosts} --job_name {job_name} "
            "--task_index {task_index} > log",
        }
    }


def test_a_command_may_go_on_behind_a_flag():
    cmd = "(python t.py --job_name='worker' --task_index=0; echo done)&& x --task_index=0|cat"
    assert to_ours(of(an_app(cmd=cmd))).document["jobs"]["worker"]["cmd"] == (
        "(python t.py --job_name={job_name} --task_index={task_index}; echo done)&& "
        "x --task_index={task_index}|cat"
    )


def test_a_group_that_was_exported_is_exported_alike_with_tensorboard_too():
    first = from_ours(checked(to_ours(group(image="me/train")).document))
    board = first["apps"][-1]
    assert board["cmd"] == "tensorboard --logdir /train --host 0.0.0.0 --port 6006"
    assert not {"portDefinitions", "requirePorts", "labels"} & board.keys()
    again = to_ours(json.loads(json.dumps(first))).document
    assert from_ours(checked(again)) == first
    assert again == to_ours(group(image="me/train")).document


@pytest.mark.parametrize("port", [6006, 7000])
def test_the_port_of_tensorboard_is_the_one_that_is_asked_for(port):
    job = {"cmd": tensorboard.command("/my logs"), "port": port}
    (app,) = from_ours({"name": "a", "jobs": {"tensorboard": job}})["apps"]
    assert app["cmd"].endswith(f"--logdir '/my logs' --host 0.0.0.0 --port {port}")
    found = to_ours({"id": "a", "apps": [app]}).document["jobs"]["tensorboard"]
    assert (found["cmd"], found["port"]) == (job["cmd"], port)


def test_variables_of_a_task_are_set_where_a_command_names_them():
    cmd = "x $TFMESOS_TASK_INDEX ${TFMESOS_WORKER_HOSTS} $TFMESOS_HOST:$TFMESOS_PORT $TFMESOS_X"
    document = {"name": "a", "cmd": cmd, "jobs": {"worker": {"num": 2}}}
    tree = from_ours(document)
    hosts = ["worker-0-a.marathon.mesos:31000", "worker-1-a.marathon.mesos:31001"]
    env = dict(tree["apps"][1]["env"])
    del env["TF_CONFIG"]
    assert env == {
        "TFMESOS_TASK_INDEX": "1",
        "TFMESOS_WORKER_HOSTS": ",".join(hosts),
        "TFMESOS_HOST": "worker-1-a.marathon.mesos",
        "TFMESOS_PORT": "31001",
    }
    found = to_ours(tree).document
    assert "env" not in found and found["jobs"]["worker"]["cmd"] == cmd


@pytest.mark.parametrize(
    "tree, said",
    [
        ({"id": "/a", "cmd": "x", "cpus": 1}, "is a single Marathon app"),
        ({"id": "/a", "container": {"docker": {"image": "x"}}}, "is a single Marathon app"),
        ({"id": "/a", "containers": [{"name": "x"}]}, "is a Marathon pod"),
    ],
)
def test_an_app_alone_and_a_pod_are_named_as_such(tree, said):
    assert is_mine(tree)
    with pytest.raises(JobFileError, match=f"{said}.*: .*apps"):
        to_ours(tree)


def test_a_command_that_is_missing_is_called_so_though_there_are_arguments(tmp_path):
    file = tmp_path / "group.json"
    file.write_text(json.dumps(of(an_app(cmd=None, args=["--x"]))))
    with pytest.raises(SpecError, match=r"apps\[0\].cmd is missing"):
        config_of_call(file, {})


def test_an_app_with_several_instances_is_a_job_of_that_many_tasks():
    several = an_app(id="my-helper", instances=3, constraints=[["hostname", "UNIQUE"]])
    job = to_ours(of(an_app(), several)).document["jobs"]["my_helper"]
    assert job["num"] == 3 and job["constraints"] == ["hostname:UNIQUE"]


def test_what_an_app_says_of_its_container_is_honoured():
    container = {
        "type": "DOCKER",
        "docker": {"image": "me/train", "network": "HOST", "forcePullImage": True},
        "volumes": [{"hostPath": "/data", "containerPath": "/in", "mode": "RO"}],
    }
    app = an_app(
        container=container,
        env={"A": "1", "TF_CONFIG": "{}"},
        user="me",
        gpus=1,
        disk=10,
        constraints=[["rack", "LIKE", "r[12]"], ["hostname", "UNIQUE"]],
        networks=[{"mode": "host"}],
        ports=[2333],
        healthChecks=[{}],
        labels={"a": "b"},
    )
    found = to_ours(of(app))
    assert found.document == {
        "name": "mnist",
        "image": "me/train",
        "containerizer_type": "DOCKER",
        "force_pull_image": True,
        "volumes": ["/data:/in:ro"],
        "env": {"A": "1"},
        "user": "me",
        **ALWAYS,
        "jobs": {
            "worker": {
                **{"num": 1, "cpus": 1, "mem": 64, "gpus": 1, "disk": 10, "cmd": "python x"},
                "constraints": ["rack:LIKE:r[12]"],
            }
        },
    }
    constraint, labels, checks = found.remarks
    assert names(constraint, "apps[0].constraints[1] hostname:UNIQUE", "one instance")
    assert names(labels, "apps[0].labels", "no effect")
    assert names(checks, "apps[0].healthChecks", "Marathon", "no effect")


DOCKER = {"image": "x"}


REFUSED = [
    (of(), "apps names no app"),
    ({"id": "x", "groups": [{"id": "y"}]}, "groups is not supported"),
    (of(an_app(cmd=None)), "apps[0].cmd is missing"),
    (of(an_app(args=["x"])), "apps[0].args and cmd are mutually exclusive"),
    (of(an_app(cpu=1)), "apps[0].cpu is unknown ... cpus?"),
    (of(an_app(cmd="x --port $PORT0")), "apps[0].cmd uses PORT0, ... Marathon"),
    (of(an_app(fetch=[{"uri": "x"}])), "apps[0].fetch is not supported"),
    (of(an_app(env={"A": {"secret": "x"}})), "apps[0].env.A must be a string (quote it)"),
    (of(an_app(networks=[{"mode": "container"}])), "apps[0].networks[0].mode must be host"),
    (of(an_app(container={"docker": {**DOCKER, "network": "BRIDGE"}})),
     "apps[0].container.docker.network must be HOST, ... got 'BRIDGE'"),
    (of(an_app(container={"network": "USER", "docker": DOCKER})),
     "apps[0].container.network must be HOST, ... got 'USER'"),
    (of(an_app(container={"docker": {**DOCKER, "parameters": [{"key": "a"}]}})),
     "apps[0].container.docker.parameters cannot be passed to Docker"),
    (of(an_app(container={"volumes": [{"containerPath": "a", "persistent": {"size": 1}}]})),
     "apps[0].container.volumes[0].persistent is not supported"),
    (of(an_app(container={"volumes": [{"hostPath": "/a", "containerPath": "b"}]})),
     "apps[0].container.volumes[0].containerPath ... absolute path ... colon"),
    (of(an_app(container={"volumes": [{"hostPath": "/a:/b", "containerPath": "/b"}]})),
     "apps[0].container.volumes[0].hostPath ... absolute path ... colon"),
    (of(an_app(id="worker-1")), "apps[0] is worker:1, but there is no worker:0"),
    (of(an_app(), an_app()), "apps[1] is a second task worker:0"),
    (of(an_app(), an_app(id="worker-1", cpus=2)), "apps[1] differs ... worker-0 ... cpus"),
    (of(an_app(), an_app(id="worker-1", cmd="y")), "apps[1] differs ... worker-0 ... cmd"),
    (of(an_app(), an_app(id="worker-1", instances=2)), "apps[1].instances must be 1: each"),
    (of(an_app(cmd="x --worker_hosts a:1,b:2")), "apps[0] ... 2 ... --worker_hosts"),
    (of(an_app(cmd="x --task_index x")), "apps[0] ... --task_index ... not a number"),
    (of(an_app(cmd=None, args=[])), "apps[0].cmd is missing"),
    (of(an_app(user="a"), an_app(id="ps")), "apps[1] ... different user ... worker-0: None"),
    (of(an_app(container={"docker": DOCKER}), an_app(id="ps", cmd="x"),
        an_app(id="w2", container={"type": "DOCKER", "docker": DOCKER})),
     "apps[2] ... different containerizer_type ... worker-0: 'DOCKER'"),
    (of(an_app(constraints=["x"])), "apps[0].constraints[0] must be a list of strings"),
]  # fmt: skip


def refusal(tree):
    with pytest.raises(JobFileError) as caught:
        to_ours(tree)
    return str(caught.value)


@pytest.mark.parametrize("tree, said", REFUSED)
def test_what_cannot_be_run_is_refused_by_its_key(tree, said):
    assert is_mine(tree)
    assert begins(refusal(tree), said)


OURS = {
    "name": "mnist",
    "image": "me/train",
    "jobs": {
        "ps": {"num": 1, "serve": True},
        "worker": {"num": 2, "cmd": ["python", "t.py", "{worker_hosts}", "it's {task_index}"]},
        "tensorboard": {"num": 1, "cmd": "tensorboard --logdir /l --port 7 > <job_name>"},
    },
}


def test_a_group_has_an_app_for_each_task_with_all_addresses():
    apps = from_ours(OURS)["apps"]
    assert [app["id"] for app in apps] == ["ps-0", "worker-0", "worker-1", "tensorboard-0"]
    workers = "worker-0-mnist.marathon.mesos:31001,worker-1-mnist.marathon.mesos:31002"
    assert apps[2]["cmd"] == f"python t.py {workers} 'it'\"'\"'s 1'"
    assert apps[2]["portDefinitions"] == [{"port": 31002, "protocol": "tcp"}]
    assert apps[3]["cmd"] == "tensorboard --logdir /l --port 7 > tensorboard"
    assert json.loads(apps[2]["env"]["TF_CONFIG"]) == {
        "cluster": {"worker": workers.split(","), "ps": ["ps-0-mnist.marathon.mesos:31000"]},
        "task": {"type": "worker", "index": 1},
    }
    assert "tf.distribute.Server" in apps[0]["cmd"]


@pytest.mark.parametrize("board", [True, False])
def test_a_group_is_valid_json_with_and_without_tensorboard(board):
    jobs = {name: job for name, job in OURS["jobs"].items() if board or name != "tensorboard"}
    text = json.dumps(from_ours({**OURS, "jobs": jobs}))
    assert len(json.loads(text)["apps"]) == 3 + board


def test_our_own_group_is_read_as_it_was_meant_unless_it_was_changed():
    tree = json.loads(json.dumps(from_ours(OURS)))
    assert to_ours(tree).document["jobs"]["worker"]["cmd"] == OURS["jobs"]["worker"]["cmd"]
    assert to_ours(tree).document["jobs"]["ps"]["serve"] is True
    tree["apps"][3]["cmd"] = "tensorboard --logdir /other --port 7 > log"
    assert to_ours(tree).document["jobs"]["tensorboard"]["cmd"] == tree["apps"][3]["cmd"]


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"name": "My job"}, "name must be lower-case letters, digits and -"),
        ({"name": None}, "name is missing: it must be lower-case letters, digits and -"),
        ({"hang_timeout": 5}, "hang_timeout cannot be expressed in a Marathon group: leave it out"),
        ({"cwd": "/x"}, "cwd cannot be expressed in a Marathon group: leave it out"),
        ({"restart_policy": "all"}, "jobs.ps.restart_policy must be task: Marathon starts each"),
        ({"restarts": 5}, "jobs.ps.restarts must be unlimited: Marathon starts each task again"),
        ({"image": None, "volumes": ["/a:/a"]},
         "volumes cannot be expressed in a Marathon group without an image: leave it out"),
        ({"jobs": {"my_job": {"cmd": "x"}}}, "jobs.my_job must be lower-case letters and digits"),
        ({"jobs": {"w": {"cmd": "x", "task_type": "worker"}}}, "jobs.w.task_type must be w in a"),
        ({"jobs": {"w": {"cmd": "x", "constraints": ["hostname:UNIQUE"]}}},
         "jobs.w.constraints[0] hostname:UNIQUE concerns several tasks"),
        ({"jobs": {"w": {"cmd": "x", "num": 40000}}}, "jobs ask for 40,000 tasks: a Marathon"),
    ],
)  # fmt: skip
def test_what_a_group_cannot_say_is_refused_by_its_key(changes, said):
    with pytest.raises(JobFileError) as caught:
        from_ours({**OURS, **changes})
    assert str(caught.value).startswith(said)
