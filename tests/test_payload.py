from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
import zipfile
import zlib
from base64 import b64decode
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import pytest

from tfmesos import payload, stock, wire


def names() -> list[str]:
    return zipfile.ZipFile(io.BytesIO(payload.archive())).namelist()


def run(code: str, archive, *options: str) -> str:
    script = f"import sys; sys.path.insert(0, {str(archive)!r}); {code}"
    command = [sys.executable, "-I", "-S", *options, "-c", script]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_payload_fits_into_one_string_of_the_environment():
    assert len(payload.payload()) < payload.MAX_BYTES


def test_every_node_module_travels_as_source_and_compiled():
    expected = {f"tfmesos/{name}{end}" for name in payload.NODE_MODULES for end in (".py", ".pyc")}
    assert set(names()) == expected | {"tfmesos/__init__.py"}


def test_the_payload_is_the_same_each_time_in_every_process():
    code = "from tfmesos import payload; print(payload.payload())"
    for seed in ("1", "2"):
        env = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code]
        other = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
        assert other.stdout.strip() == payload.payload()


def test_the_payload_holds_the_archive():
    assert zlib.decompress(b64decode(payload.payload())) == payload.archive()


def test_the_compiled_modules_are_taken_where_they_fit(tmp_path):
    archive = tmp_path / "runner.zip"
    archive.write_bytes(payload.archive())
    assert run("import tfmesos.wire as m; print(m.__cached__ or m.__file__)", archive).endswith(
        "wire.pyc\n"
    )


def test_a_traceback_of_the_compiled_modules_names_the_line(tmp_path):
    archive = tmp_path / "runner.zip"
    archive.write_bytes(payload.archive())
    code = "from tfmesos import wire\ntry: wire.split_address('x')\nexcept ValueError as e: t = e"
    code += "\nprint(t.__traceback__.tb_next.tb_lineno)"
    script = tmp_path / "script.py"
    script.write_text(code)
    line = int(run(f"exec(open({str(script)!r}).read())", archive))
    assert "is not host:port" in payload._source("wire").decode().splitlines()[line - 1]


def test_the_source_is_taken_where_the_compiled_modules_do_not_fit(tmp_path):
    archive = tmp_path / "runner.zip"
    with zipfile.ZipFile(io.BytesIO(payload.archive())) as ours:
        with zipfile.ZipFile(archive, "w") as of_another_python:
            for name in ours.namelist():
                changed = ours.read(name).replace(MAGIC_NUMBER, b"\x01\x02\r\n")
                of_another_python.writestr(name, changed)
    code = "import tfmesos.server as m; print(m.__file__, m.main.__doc__)"
    assert run(code, archive) == f"{archive}/tfmesos/server.py The exit code of the task.\n"


def test_the_bootstrap_keeps_a_strange_interpreter_path_whole():
    words = shlex.split(payload.bootstrap("/opt/my python/bin/python3"))
    assert words[:5] == ["exec", "/opt/my python/bin/python3", "-I", "-S", "-c"]


def test_the_runner_starts_in_an_empty_directory_that_hides_modules(tmp_path):
    """A json.py in the sandbox or on PYTHONPATH must not get in the way of ours."""
    (tmp_path / "json.py").write_text("raise SystemExit(99)")
    env = {"TFMESOS_PAYLOAD": payload.payload(), "PYTHONPATH": str(tmp_path)}
    command = ["/bin/sh", "-c", payload.bootstrap(sys.executable)]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == wire.BAD_SETTINGS
    assert (
        done.stderr
        == "tfmesos runner: bad settings in the environment: KeyError('TFMESOS_RUNNER')\n"
    )
    assert {entry.name for entry in tmp_path.iterdir()} == {"json.py", "tfmesos-runner.zip"}


def test_the_runner_is_unpacked_into_the_sandbox_wherever_it_starts(tmp_path):
    sandbox, elsewhere = tmp_path / "sandbox", tmp_path / "elsewhere"
    sandbox.mkdir()
    elsewhere.mkdir()
    env = {"TFMESOS_PAYLOAD": payload.payload(), "MESOS_SANDBOX": str(sandbox)}
    subprocess.run(
        ["/bin/sh", "-c", payload.bootstrap(sys.executable)],
        env=env,
        cwd=elsewhere,
        stderr=subprocess.DEVNULL,
    )
    assert [entry.name for entry in sandbox.iterdir()] == ["tfmesos-runner.zip"]
    assert list(elsewhere.iterdir()) == []


@pytest.fixture
def shelf(tmp_path, monkeypatch) -> Path:
    """A place of our own for what Python compiles."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path


def stocked() -> str:
    return stock.stocked_payload.__wrapped__()


def kept(shelf: Path) -> list[Path]:
    return list(shelf.rglob("*.runner*"))


def test_the_payload_is_kept_and_taken_from_there(shelf, monkeypatch):
    made = stocked()
    assert made == payload.payload()
    monkeypatch.setattr(payload, "payload", lambda: "made anew")
    assert stocked() == made
    assert len(kept(shelf)) == 1


def test_a_payload_of_other_sources_is_made_anew(shelf, monkeypatch):
    stocked()
    monkeypatch.setattr(payload, "fingerprint", lambda: "another")
    monkeypatch.setattr(payload, "payload", lambda: "made anew")
    assert stocked() == "made anew"
    assert kept(shelf)[0].read_text() == "another\nmade anew"


def test_the_fingerprint_knows_every_source_that_travels(monkeypatch):
    before = payload.fingerprint()
    source = payload._source
    for name in payload.NODE_MODULES:
        monkeypatch.setattr(payload, "_source", lambda n, name=name: source(n) + b"#" * (n == name))
        assert payload.fingerprint() != before


def test_a_payload_that_cannot_be_kept_is_made_each_time(shelf, monkeypatch):
    shelf.rmdir()
    shelf.write_text("no directory")
    assert stocked() == payload.payload()
    assert shelf.read_text() == "no directory"


def test_nothing_is_kept_where_python_may_not_keep_anything(shelf, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert stocked() == payload.payload()
    assert kept(shelf) == []
