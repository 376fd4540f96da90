"""What Python shows of the package to its users, and how it takes their settings."""

from __future__ import annotations

import collections.abc
import inspect
import pydoc
from typing import get_overloads, get_type_hints

import pytest

import tfmesos
from tests.builders import workers
from tfmesos import Job, Outcome, TaskFailed, TFMesosScheduler
from tfmesos.config.setting import Text
from tfmesos.config.settings import SETTINGS, Settings
from tfmesos.errors import SpecError
from tfmesos.inputs.merging import POSITIONAL


def test_the_package_shows_its_interface_and_nothing_else():
    assert dir(tfmesos) == sorted(tfmesos.__all__)
    assert {"Job", "Outcome", "Settings", "TFMesosScheduler", "cluster"} <= set(dir(tfmesos))
    assert all(getattr(tfmesos, name) for name in dir(tfmesos))


def test_a_job_is_shown_as_one_would_write_it():
    job = Job("worker", 2, gpus=1, cmd="python train.py", constraints=["hostname:UNIQUE"])
    assert repr(job) == (
        "Job('worker', 2, gpus=1, cmd='python train.py', constraints=('hostname:UNIQUE',))"
    )
    assert eval(repr(job)) == job
    assert repr(Job("ps", 1)) == "Job('ps', 1)"


def test_an_outcome_says_how_it_ended():
    assert repr(Outcome()) == "<Outcome: succeeded (exit code 0)>"
    failed = Outcome(error=TaskFailed("worker:1", "exited with 3", 3))
    assert repr(failed) == "<Outcome: failed: worker:1 exited with 3 (exit code 3)>"


def test_a_cluster_does_not_show_the_password_of_its_zookeeper():
    scheduler = TFMesosScheduler(workers(1), master="zk://me:hush@zoo:2181/mesos")
    assert "zk://" in repr(scheduler) and "hush" not in repr(scheduler)


def test_tasks_can_be_read_as_tfmesos_had_them():
    scheduler = TFMesosScheduler([workers(2, cpus=2), Job("ps", 3, start=1)])
    assert not scheduler.started
    names = ["/job:worker/task:0", "/job:worker/task:1", "/job:ps/task:1", "/job:ps/task:2"]
    assert list(scheduler.tasks) == names
    task = scheduler.tasks["/job:worker/task:1"]
    assert (task.job_name, task.task_index, task.cpus, task.addr) == ("worker", 1, 2, None)
    scheduler._ready.set_result({"worker": ("h:1", "h:2"), "ps": ("h:3", "h:4")})
    assert scheduler.started
    assert [task.addr for task in scheduler.tasks.values()] == ["h:1", "h:2", "h:3", "h:4"]
    with pytest.raises(AttributeError):
        scheduler.tasks = {}
    with pytest.raises(AttributeError):
        scheduler.started = True


def test_an_empty_master_is_that_of_the_environment(monkeypatch):
    monkeypatch.setenv("MESOS_MASTER", "mesos:5050")
    assert TFMesosScheduler(workers(1), master="").config.master == "mesos:5050"


def test_settings_may_be_given_by_position_as_tfmesos_took_them():
    given = ("ml", "mesos:5050", "a name", True, {"/a": "/b"}, "docker", True)
    more = ({"/job:worker/task:0": ("h", 1)}, "grpc", {"X": "1"}, {"initializer": "true"})
    config = TFMesosScheduler(workers(1), *given, *more, image="me/train").config
    assert (config.role, config.master, config.name) == ("ml", "mesos:5050", "a name")
    assert (config.containerizer, config.force_pull_image) == ("DOCKER", True)
    assert (config.env, config.initializer) == ({"X": "1"}, "true")
    assert workers(1).tasks[0] not in config.logs  # it is quiet


def test_a_setting_by_position_has_the_type_that_it_has_by_name():
    _, by_position = get_overloads(TFMesosScheduler.__init__)
    _, _, *parameters, _ = inspect.signature(by_position).parameters.values()
    assert tuple(parameter.name for parameter in parameters) == POSITIONAL
    names = {**vars(collections.abc), "Text": Text}
    for parameter in parameters:
        by_name = get_type_hints(Settings)[parameter.name]
        assert eval(parameter.annotation, names) == by_name


@pytest.mark.parametrize("positional, named", [(("ml",), {"role": "x"}), (range(12), {})])
def test_settings_by_position_are_not_given_twice_nor_one_too_many(positional, named):
    with pytest.raises(TypeError, match=r"^TFMesosScheduler (got role|takes at most 11)"):
        TFMesosScheduler(workers(1), *positional, **named)


def test_a_misspelt_setting_is_named_with_the_nearest_right_one():
    with pytest.raises(SpecError, match=r"^hang_timeot is not a setting: .* mean hang_timeout\?$"):
        TFMesosScheduler(workers(1), hang_timeot=3)


def test_the_help_of_cluster_lists_every_setting_with_its_type_and_default():
    text = pydoc.plain(pydoc.render_doc(tfmesos.cluster))
    for setting in SETTINGS:
        default = f" (default: {setting.default_text})" if setting.default_text else ""
        assert f"{setting.field}: {setting.type}{default}\n" in text
