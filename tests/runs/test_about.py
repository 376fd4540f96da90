"""What is written down of a run before it begins tells its settings and no secret."""

import json

from tests.builders import workers
from tfmesos.launcher.inputs.configuration import make_config
from tfmesos.node import json_reader
from tfmesos.runs.about import about, settings_of


def test_the_settings_that_are_not_as_usual_are_told_without_secrets(tmp_path):
    (tmp_path / "token").write_text("hush")
    config = make_config(
        workers(1),
        master="zk://me:hush@h/mesos",
        token_file=tmp_path / "token",
        env={"KEY": "hush"},
        secret_env={"TOKEN": "env:PATH"},
        restarts="unlimited",
        bring=["*.h5"],
        stop_grace="2m",
    )
    found = settings_of(config)
    assert found["stop_grace"] == "120.0" and found["bring"] == "('*.h5',)"
    assert found["env"] == ["KEY"] and "inf" in found["restarts"]
    text = json.dumps(about("abcd", config, ["tfrun"], ["-w", "1"], "/", 0.0))
    assert "hush" not in text
    assert json_reader.read(text.encode())["settings"] == found


def test_usual_settings_are_not_told():
    assert settings_of(make_config(workers(1), master="local")).keys() <= {"logs"}
