"""One table holds all there is to know of a setting; the rest is made of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.builders import workers
from tests.sentences import begins
from tfmesos.config.engine_kinds import ENGINES
from tfmesos.config.job import Job
from tfmesos.config.launch_config import LaunchConfig
from tfmesos.config.setting import Setting
from tfmesos.config.settings import (
    DEFAULTS,
    DOCUMENT_KEYS,
    SETTINGS,
    check_engine,
    deprecations,
    merge,
)
from tfmesos.engines.plugins import plugin_of
from tfmesos.errors import SpecError
from tfmesos.inputs.merging import make_config

# A value of each setting that is not its default.
OTHERS = {
    "entry": "train:main",
    "context": {"steps": 3},  # with an entry
    "log_dir": "hdfs://default/logs",  # with an entry
    "local_chief": True,
    "master": "mesos:5050",
    "name": "another",
    "role": "ml",
    "advertise": "here:1",
    "constraints": ["hostname:UNIQUE"],
    "start_timeout": 5,
    "restarts": 1,
    "restart_policy": "task",
    "retry_codes": "7",
    "checkpoint_before": 2,
    "grow_every": 5,  # with a range of workers
    "run_timeout": 5,
    "success": "worker:0",
    "hang_timeout": 5,
    "evaluator_grace": 5,
    "tensorboard": "logs",
    "tensorboard_stays": True,  # with a TensorBoard
    "tensorboard_public": True,
    "principal": "me",  # with a secret
    "secret_file": "FILE",  # with a principal
    "token_file": "FILE",
    "ca_file": "ca.pem",
    "cert_file": "cert.pem",
    "key_file": "key.pem",  # with a certificate
    "link_tls": True,
    "image": "me/train",
    "containerizer_type": "docker",
    "force_pull_image": True,
    "volumes": ["/a:/a"],
    "env": {"X": "1"},
    "env_file": "VARIABLES",
    "secrets": {"token": "env:PATH"},
    "secret_env": {"TOKEN": "env:PATH"},
    "gcs_key": "FILE",
    "keytab": "FILE",  # with a principal
    "krb5_principal": "me@REALM",  # with a keytab
    "krb5_conf": "FILE",  # with both
    "user": "nobody",  # with an image
    "pod_template": "TEMPLATE",
    "namespace": "training",
    "claims": ["data:/data"],
    "shm": "1G",
    "gpu_resource": "amd.com/gpu",
    "gang_hold": 5,
    "queue": "training",
    "priority": "high",
    "cpu_limit": "request",
    "slurm_options": ["--account=x"],  # on Slurm
    "ship": ".",
    "ship_files": [__file__],
    "ship_limit": 1,  # of the shipped files
    "bring": ["*.h5"],
    "bring_limit": 1,
    "cwd": "/",
    "python": "/opt/python",
    "reserve_port": False,
    "tf_config": "always",
    "extra_config": {"initializer": "true"},
    "logs": "none",
    "stop_grace": 60,
    "stop_signal": "INT",
    "survive": 60,  # on a cluster
    "record": False,
    "allow_exec": False,
    "check": "nvidia-smi",
    "pause_on_failure": 60.0,
    "output_dir": "logs",
    "metrics_file": "run.prom",
    "on_end": "notify-send done",
    "quiet": True,
    "protocol": "grpc+verbs",
    "forward_addresses": {"/job:worker/task:0": ("h", 1)},
}
_KUBERNETES = {"master": "k8s://", "image": "me/train"}
COMPANIONS = {
    "checkpoint_before": {"run_timeout": 5},
    "grow_every": {"restart_policy": "all"},
    **dict.fromkeys(
        (
            *("pod_template", "namespace", "claims", "shm", "gpu_resource", "gang_hold"),
            *("queue", "priority", "cpu_limit"),
        ),
        _KUBERNETES,
    ),
    "slurm_options": {"master": "slurm://"},
    "context": {"entry": "train:main"},
    "log_dir": {"entry": "train:main"},
    "principal": {"secret_file": "FILE"},
    "secret_file": {"principal": "me"},
    "key_file": {"cert_file": "cert.pem"},
    "tensorboard_stays": {"tensorboard": "logs"},
    "user": {"image": "me/train"},
    "ship_limit": {"ship": "."},
    "survive": {"master": "mesos:5050"},
    "keytab": {"krb5_principal": "me@REALM"},
    "krb5_principal": {"keytab": "FILE"},
    "krb5_conf": {"keytab": "FILE", "krb5_principal": "me@REALM"},
}


@pytest.fixture
def secret(tmp_path, monkeypatch):
    for setting in SETTINGS:
        monkeypatch.delenv(setting.variable or "NONE", raising=False)
    file = tmp_path / "secret"
    file.write_text("hush")
    (tmp_path / "variables").write_text("X=1")
    (tmp_path / "template").write_text('{"spec": {"priorityClassName": "high"}}')
    return file


def test_an_empty_master_means_the_variable_and_is_refused_without_it():
    assert merge({"master": ""}, {"MESOS_MASTER": "mesos:5050"})["master"] == "mesos:5050"
    assert merge({}, {"MESOS_MASTER": ""})["master"] == "local"
    with pytest.raises(SpecError, match=r"^master must .* local, got ''"):
        merge({"master": ""}, {"MESOS_MASTER": ""})


@pytest.mark.parametrize("role", ["*", "ml", "ml/vision", "a-b.c_d"])
def test_roles_that_mesos_takes_are_taken(role):
    assert merge({"role": role}, {})["role"] == role


@pytest.mark.parametrize("role", ["a b", "a\tb", "a\x7f", "-a", ".", "a/..", "/a", "a//b", "a/*"])
def test_roles_that_mesos_refuses_are_refused_before_it_is_asked(role):
    with pytest.raises(SpecError, match=r"^role must be a name"):
        merge({"role": role}, {})


@pytest.mark.parametrize("field", DOCUMENT_KEYS)
def test_every_setting_changes_what_the_run_is_told(field, secret):
    def config(settings):
        names = ("variables", "template")
        files = {"FILE": secret, **{name.upper(): secret.with_name(name) for name in names}}
        given = {k: files.get(v, v) if isinstance(v, str) else v for k, v in settings.items()}
        jobs = [workers("1:2"), Job("other", 1)]  # one with a command, one without
        return make_config(jobs, **{"name": "one", "user": None, **given})

    alone = COMPANIONS.get(field, {})
    if field in (
        "principal",
        "secret_file",
        "keytab",
        "krb5_principal",
    ):  # neither is anything without the other
        alone = {}
    assert config({**COMPANIONS.get(field, {}), field: OTHERS[field]}) != config(alone)


@pytest.mark.parametrize("setting", [s for s in SETTINGS if s.variable], ids=lambda s: s.field)
def test_a_setting_wins_over_its_variable_and_that_over_the_default(setting):
    environ = {setting.variable: "of the environment"}
    assert merge({}, {})[setting.field] == setting.default
    assert merge({}, {setting.variable: ""})[setting.field] == setting.default
    if setting.check is None:
        assert merge({setting.field: None}, environ)[setting.field] == "of the environment"
        assert merge({setting.field: ""}, environ)[setting.field] == "of the environment"
    assert merge({setting.field: "given"}, environ)[setting.field] == "given"


@pytest.mark.parametrize(
    "setting",
    [s for s in SETTINGS if s.type == "str" and s.default and not s.variable],
    ids=lambda s: s.field,
)
def test_an_empty_text_is_as_good_as_none(setting):
    assert merge({setting.field: ""}, {})[setting.field] == setting.default


@pytest.mark.parametrize("field", ["output_dir", "metrics_file", "check", "logs"])
def test_an_empty_text_is_refused_where_something_would_be_lost_without_a_word(field):
    """As with ``--output-dir "$OUT"`` of a script in which nobody set OUT."""
    with pytest.raises(SpecError, match=rf"^{field} must name .*, got ''$"):
        merge({field: ""}, {})


@pytest.mark.parametrize(
    "field, value, problem",
    [
        ("principal", 5, "must be a string, got 5"),
        ("advertise", 5, "must be a string, got 5"),
        ("restart_policy", 5, "must be a string, got 5"),
        ("local_chief", "yes", "must be True or False, got 'yes'"),
        ("restarts", True, "must be ... 0 or more, or unlimited, got True"),
        ("hang_timeout", [5], "must be above 0, got [5]"),
        ("env", ["X=1"], "must be a dict, got ['X=1']"),
        ("forward_addresses", 5, "must be a dict, got 5"),
        ("hang_timeot", 3, "is not a setting: did you mean hang_timeout?"),
        ("frobnicate", 3, "is not a setting"),
    ],
)
def test_a_wrong_setting_is_named_with_its_problem(field, value, problem):
    with pytest.raises(SpecError) as caught:
        make_config(workers(1), **{field: value})
    assert begins(str(caught.value), f"{field} {problem}")


def test_a_file_may_be_a_path(secret):
    config = make_config(workers(1), token_file=Path(secret))
    assert config.access.token.reveal() == "hush"


def test_the_defaults_of_a_run_are_those_of_the_table():
    made, plain = make_config(workers(1), master="local"), LaunchConfig(jobs=(workers(1),))
    for field in ("role", "protocol", "tf_config", "restarts", "hang_timeout", "local_chief"):
        assert getattr(made, field) == getattr(plain, field)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.field)
def test_a_row_says_all_that_a_page_of_reference_shows(setting):
    assert setting.help and setting.type
    assert "collections" not in setting.type and "None" not in setting.type.split(" | ")
    assert all(re.fullmatch("-[A-Za-z]|--[a-z0-9_-]+", flag) for flag in setting.flags)


def test_the_address_of_on_end_is_not_in_the_name_that_everybody_sees(monkeypatch):
    url = "https://hooks.example.org/hush"
    monkeypatch.setattr("sys.argv", ["tfrun", "--on-end", url, "-w", "1", "--", "true"])
    name = make_config(workers(1), on_end=url).name
    assert "hush" not in name and "--on-end *** -w 1" in name


def test_a_deprecated_setting_says_since_when_and_what_to_use_instead():
    table = [
        Setting("old way", ("--old",), field="old", deprecated="since 1.1: use --new"),
        Setting("new way", ("--new",), field="new"),
        Setting("of Python", field="past", deprecated="since 1.2"),
    ]
    assert table[0].help == "old way (deprecated since 1.1: use --new)"
    given = {"old": "x", "new": "y", "past": 0}
    assert deprecations(given, table) == (
        "--old is deprecated since 1.1: use --new",
        "past is deprecated since 1.2",
    )
    assert deprecations({"new": "y", "old": None}, table) == ()


def test_a_run_with_a_deprecated_setting_warns_and_goes_on(monkeypatch):
    (row,) = (one for one in SETTINGS if one.field == "stop_signal")
    monkeypatch.setattr(row, "deprecated", "since 1.1: use --other")
    config = make_config(workers(1), stop_signal="INT")
    assert config.warnings == ("--stop-signal is deprecated since 1.1: use --other",)
    assert config.stop_signal == "INT"
    assert make_config(workers(1)).warnings == ()


_OF_SOME = [one for one in SETTINGS if one.engines]


@pytest.mark.parametrize("setting", _OF_SOME, ids=[one.field for one in _OF_SOME])
def test_a_setting_is_refused_exactly_where_it_has_no_meaning(setting):
    given = {**DEFAULTS, setting.field: OTHERS[setting.field]}
    for name in setting.engines:
        check_engine(given, ENGINES[name])
    for name in ENGINES.keys() - setting.engines:
        with pytest.raises(SpecError, match="is supported only on") as caught:
            check_engine(given, ENGINES[name])
        assert caught.value.field == setting.field
        assert ENGINES[setting.engines[0]].title in caught.value.problem


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_a_setting_at_its_default_is_refused_nowhere(engine):
    check_engine(merge({}, {}), engine)
    check_engine({**merge({}, {}), "claims": [], "namespace": "", "slurm_options": None}, engine)


def test_an_engine_says_what_is_used_in_place_of_a_setting_of_others():
    fields = {one.field for one in _OF_SOME}
    for name, engine in ENGINES.items():
        instead = plugin_of(name).instead
        assert set(instead) <= fields
        for field, reason in instead.items():
            with pytest.raises(SpecError) as caught:
                check_engine({**DEFAULTS, field: OTHERS[field]}, engine, instead)
            assert caught.value.problem == f"is not supported on {engine.title}: {reason}"
