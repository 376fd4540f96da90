"""The keys of a run: for its owner alone, with all settings and without a secret."""

from __future__ import annotations

import pytest

from tests.builders import workers
from tfmesos.inputs.merging import make_config
from tfmesos.runs.run_files import RunDirectory
from tfmesos.runs.takeover import keys_file


@pytest.fixture
def run(tmp_path):
    return RunDirectory(tmp_path)


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("WORD", "hush-hush")
    for name in ("password", "token"):
        (tmp_path / name).write_text("hush-hush")
        (tmp_path / name).chmod(0o600)
    return make_config(
        workers(2),
        master="mesos:5050",
        principal="me",
        secret_file=tmp_path / "password",
        secrets={"token": str(tmp_path / "token")},
        secret_env={"WORD": "env:WORD"},
        env={"GREETING": "hello"},
        constraints=["hostname:UNIQUE"],
        restart_policy="all",
        ship=".",
        volumes=["/a:/a"],
        tensorboard="logs",
        bring=["*.h5"],
    )


def test_settings_come_back_as_they_were_but_for_secrets(run, config):
    keys = keys_file.keep(run, config)
    keys.keep("framework", "f-1")
    assert run.keys_file.stat().st_mode & 0o777 == 0o600
    assert b"hush-hush" not in run.keys_file.read_bytes()
    kept = keys_file.read(run)
    assert kept.config == keys_file.without_secrets(config)
    assert kept.config.replace(access=config.access, secrets=config.secrets) == config
    assert (kept.epoch, kept.values["framework"], kept.has_credentials) == (1, "f-1", True)


def test_the_next_launcher_has_the_same_secrets_and_a_higher_epoch(run, config):
    first = keys_file.keep(run, config)
    kept = keys_file.read(run)
    second = keys_file.keep(run, kept.config, kept.epoch + 1, kept)
    assert second.epoch == 2 and keys_file.read(run).epoch == 2
    assert first.secret_of("first", "t", "1") == second.secret_of("first", "t", "1")
    others = {first.secret_of(*words) for words in (("first", "t", "2"), ("later", "t", "1"))}
    assert len(others | {first.secret_of("first", "t", "1")}) == 3


@pytest.mark.parametrize("text", ["", "{", "[]", '{"epoch": 1}', '{"epoch": "x", "config": {}}'])
def test_a_file_that_makes_no_sense_is_none(run, text):
    run.keys_file.write_text(text)
    assert keys_file.read(run) is None


def test_a_launcher_that_leaves_its_run_says_so_and_one_that_died_does_not(run, config):
    keys = keys_file.keep(run, config)
    assert not keys_file.has_left(run)
    keys_file.leave(run, keys)
    assert keys_file.has_left(run) and list(keys.gone) == [1]


def test_a_launcher_leaves_nothing_that_another_one_holds_already(run, config):
    first = keys_file.keep(run, config)
    second = keys_file.keep(run, config, 2, keys_file.read(run))
    keys_file.leave(run, first)
    assert not keys_file.has_left(run)
    keys_file.leave(run, second)
    assert keys_file.has_left(run)
