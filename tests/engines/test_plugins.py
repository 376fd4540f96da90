"""What an engine makes of the settings, and what its decider is told besides the jobs."""

from __future__ import annotations

import pytest

from tests.builders import workers
from tfmesos.config.engine_kinds import ENGINES, engine_at
from tfmesos.engines.kubernetes.api import kubeconfig
from tfmesos.engines.plugins import plugin_of
from tfmesos.inputs.merging import make_config


@pytest.mark.parametrize(
    "settings, before, grace",
    [
        ({}, 15.0, None),  # the usual grace, and a margin
        ({"stop_grace": 60}, 70.0, None),
        ({"checkpoint_before": 120}, 120, 120),
    ],
)
def test_on_slurm_a_notice_leaves_the_tasks_the_time_that_they_have(
    monkeypatch, settings, before, grace
):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    rules = plugin_of("slurm").rules(make_config(workers(1), master="slurm://", **settings))
    assert (rules["notice_before"], rules["notice_grace"]) == (before, grace)


@pytest.mark.parametrize("kind", ENGINES)
def test_every_kind_of_engine_has_a_decider_that_says_what_it_hears(kind):
    assert isinstance(plugin_of(kind).new_decider(lambda: 0.5, {}).hears, tuple)


def test_an_engine_that_nobody_knows_is_named():
    with pytest.raises(ValueError, match="no engine is called 'pbs'"):
        plugin_of("pbs")


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({}, 0.0),  # nobody else has the address of its pod
        ({"resumes": True}, 600.0),
        ({"advertise": "gate:4711"}, 600.0),
        ({"survive": 60}, 60.0),
        ({"master": "mesos:5050"}, 600.0),
    ],
)
def test_tasks_wait_for_no_other_launcher_if_theirs_is_in_a_pod_that_nobody_resumes(
    settings, seconds, monkeypatch
):
    monkeypatch.setattr(kubeconfig, "is_inside", lambda: True)
    given = {"master": "k8s://", "image": "i", **settings}
    assert make_config(workers(1), **given).survive == seconds


def test_tasks_on_kubernetes_wait_ten_minutes_for_another_launcher_outside_of_it():
    assert make_config(workers(1), master="k8s://", image="i").survive == 600.0


@pytest.mark.parametrize(
    ("master", "name"),
    [
        ("local", "local"),
        ("localhost:5050", "mesos"),
        ("zk://a,b/mesos", "mesos"),
        ("k8s://prod/team", "kubernetes"),
        ("slurm://", "slurm"),
        ("", "mesos"),
    ],
)
def test_the_master_names_the_engine(master, name):
    assert engine_at(master).name == name


def test_no_pod_that_is_started_again_has_its_address():
    config = make_config(workers(1), master="k8s://", image="i")
    assert "another address" in plugin_of("kubernetes").why_readdressed(config, config)


@pytest.mark.parametrize(
    "change, problem",
    [({"cmd": "other"}, ""), ({"env": {"A": "1"}}, ""), ({"mem": 2048.0}, "worker tasks")],
)
def test_on_slurm_a_task_that_needs_something_else_has_another_job(monkeypatch, change, problem):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    config = make_config(workers(2), master="slurm://")
    (job,) = config.jobs
    new = config.in_generation(0, (job.replace(**change),))
    found = plugin_of("slurm").why_readdressed(config, new)
    assert problem in found and bool(problem) == bool(found)
    within = config.replace(slurm=config.slurm.replace(allocation="9"))
    assert plugin_of("slurm").why_readdressed(within, new) == ""


@pytest.mark.parametrize("kind", ["local", "mesos"])
def test_elsewhere_a_task_that_is_started_again_has_its_address(kind):
    config = make_config(workers(1))
    assert plugin_of(kind).why_readdressed(config, config) == ""
