"""Bad input is one clear line, and nothing is started."""

import subprocess
import sys

import pytest

from tests.commands import tfrun
from tests.sentences import assert_sentences, begins, names
from tfmesos.tfrun import main


def test_a_machine_without_room_for_a_sandbox_is_one_line_that_names_tmpdir():
    command = 'ulimit -f 0; exec "$0" -m tfmesos -w 1 --no-record -- true'
    done = subprocess.run(["sh", "-c", command, sys.executable], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (74, 1), done.stderr
    assert names(done.stderr, "sandboxes", "/tmp", "TMPDIR")


@pytest.mark.parametrize(
    "text, problem",
    [
        *((text, "must be a JSON object") for text in ("[1]", "[]", "null", "0", '""')),
        *[("{", "JSON object"), ("[" * 100_000, "nested")],
    ],
)
def test_an_extra_config_that_is_no_object_is_refused(tmp_path, text, problem):
    config = tmp_path / "extra.json"
    config.write_text(text)
    done = tfrun("-w", 1, "--extra_config", config, "--", "x")
    assert done.returncode == 2 and problem in done.stderr and done.stderr.count("\n") == 1


WRONG = [
    (["-w", "-1"], "-w/--nworker ... negative, got -1"),
    (["-w", "1", "-s", "-2"], "-s/--nserver ... negative, got -2"),
    (["-w", "two"], "argument -w/--nworker: ... MIN:MAX ... got 'two'"),
    (["-w", "0"], "no task to run: ... -w/--nworker"),
    (["-w", "1", "-Cw", "0"], "-Cw/--worker-cpus ... above 0, got 0"),
    (["-w", "1", "-Mw", "1"], "-Mw/--worker-mem ... 32 (MiB), got 1"),
    (["-w", "1", "-Gw", "0.5"], "-Gw/--worker-gpus ... whole number, got 0.5"),
    (["-w", "1", "--retry-codes", "256"], "--retry-codes must be exit codes from 1"),
    (["-w", "1", "--logs", "boss"], "--logs ... not in this run: 'boss'"),
    (["-w", "1", "-V", "/a"], "-V/--volume ... HOST:CONTAINER[:ro|rw], got '/a'"),
    (["-w", "1", "-V", "/a:/b"], "-V/--volume /a:/b needs an image"),
    (["-w", "1", "--env", "NOT_SET"], "--env 'NOT_SET' is not set ... KEY=VALUE"),
    (["-w", "1", "--env", "1=2"], "--env ... variable name ... got '1'"),
    (["-w", "1", "-m", "a:b:c"], "-m/--master 'a:b:c'"),
    (["-w", "1", "-m", ""], "-m/--master ... local, got ''"),
    (["-w", "1", "-r", "a b"], "-r/--role ... without spaces, got 'a b'"),
    (["-w", "1", "-m", "ftp://x"], "-m/--master 'ftp://x'"),
    (["-w", "1", "-C", "lxc"], "-C/--containerizer-type must be MESOS or DOCKER"),
    (["-w", "1", "--start-timeout", "0"], "--start-timeout ... above 0, got 0"),
    (["-w", "1", "--start-timeout", "nan"], "--start-timeout ... seconds, ... got 'nan'"),
    (["-w", "1", "-Mw", "2X"], "-Mw/--worker-mem ... MiB, ... got '2X'"),
    (["-w", "1", "--hang-timeout", "-5"], "--hang-timeout ... above 0, got -5"),
    (["-w", "1", "--local-chief", "--hang-timeout", "5"], "--hang-timeout ... local chief"),
    (["-w", "1", "--restarts", "-1"], "--restarts ... 0 or more, ... got '-1'"),
    (["-w", "1", "--restart-policy", "ever"], "--restart-policy ... never, task, all, got 'ever'"),
    (["-w", "1", "--tf-config", "no"], "--tf-config must be auto or always, got 'no'"),
    (
        ["-w", "1", "--retry-codes", "1,x"],
        "--retry-codes ... from 1 to 255, ... 137,143 or 128-255, got '1,x'",
    ),
    (
        ["-w", "2", "--local-chief", "--restart-policy", "all"],
        "--restart-policy 'all' ... local chief",
    ),
    (["-w", "1", "-m", "h", "--image", "a b"], "--image ... name of an image, got 'a b'"),
    (["-w", "1", "-m", "h", "--image=-v/:/host"], "--image ... an image, got '-v/:/host'"),
    (["-w", "1", "--cwd", "here"], "--cwd must be an absolute path, got 'here'"),
    (["-w", "1", "-V", "/a:b"], "-V/--volume ... absolute paths, got 'b' in '/a:b'"),
    (
        ["-w", "1", "-s", "1", "--local-chief", "--serve", "worker"],
        "--local-chief needs a command, ... worker:0",
    ),
    (["-w", "1", "--advertise", "a b"], "--advertise ... HOST:PORT, got 'a b'"),
    (
        ["-w", "1", "--constraint", "hostname:ODD"],
        "--constraint ... 'ODD' in 'hostname:ODD': "
        "use UNIQUE, CLUSTER, GROUP_BY, MAX_PER, IS, LIKE, UNLIKE",
    ),
    (
        ["-w", "1", "--constraint", "hostname"],
        "--constraint must be FIELD:OPERATOR[:VALUE], ... got 'hostname'",
    ),
    (["-w", "1", "--constraint", "rack:LIKE:("], "--constraint 'rack:LIKE:(' ... missing )"),
    (["-w", "1", "--constraint", "rack:IS"], "--constraint 'rack:IS' needs a value after IS:"),
    (
        ["-w", "1", "--constraint", "rack:MAX_PER:many"],
        "--constraint 'rack:MAX_PER:many' ... whole number above 0 ... MAX_PER:",
    ),
    (
        ["-w", "1", "--constraint", "ps=hostname:UNIQUE"],
        "--constraint ... not in this run: 'ps' in 'ps=hostname:UNIQUE'",
    ),
    (["-w", "1", "--logs", "all", "--worker-logs", "0"], "--logs and --worker-logs ... exclusive"),
    (["-w", "2", "--worker-logs", "0,x"], "--worker-logs ... below 2, ... got 'x'"),
    (["-w", "1", "--worker-logs", "1"], "--worker-logs ... below 1, ... got '1'"),
    (["-w", "1", "--serve", "ps"], "--serve ... not in this run: 'ps'"),
    (["-w", "1", "--serve", "worker"], "--serve leaves no task to run"),
    (["-w", "1", "--principal", "me"], "--principal 'me' ... secret file"),
    (["-w", "1", "--token-file", "/dev/null"], "--token-file is empty: /dev/null"),
    (["-w", "1", "--key-file", "k"], "--key-file ... certificate file"),
    (["--frobnicate"], "--frobnicate"),
]
OF_THE_COMMAND = [
    (["-w", "1"], "the command is missing"),
    (["-w", "1", "--", ""], "the command must not be empty"),
    (["-s", "1", "--", " "], "the command must not be empty"),
]
OF_THIS_MACHINE = [
    (["-w", "1", "--user", "nobody", "--", "x"], "--user 'nobody' ... an image ... (-m)"),
    (
        ["-w", "1", "--advertise", "no-such-host.invalid", "--", "x"],
        "--advertise 'no-such-host.invalid' ... resolved on this machine",
    ),
]
ANYWHERE = [*(([*args, "--", "x"], message) for args, message in WRONG), *OF_THE_COMMAND]


@pytest.mark.parametrize("args, message", [*ANYWHERE, *OF_THIS_MACHINE])
def test_bad_input_is_one_clear_line_and_nothing_is_started(args, message):
    done = tfrun(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert begins(done.stderr, f"tfrun: {message}") and done.stderr.count("\n") == 1


def test_they_are_as_written_down(capsys, monkeypatch):
    for variable in ("MESOS_MASTER", "DOCKER_IMAGE"):
        monkeypatch.delenv(variable, raising=False)
    said = []
    for args, _ in ANYWHERE:
        try:
            assert main(args) == 2
        except SystemExit as end:
            assert end.code == 2
        said.append(capsys.readouterr().err.removesuffix("\n"))
    assert_sentences("command-line-sentences", said)


@pytest.mark.parametrize(
    "args, message",
    [
        (["-e", "/no"], "-e/--extra-config cannot be read: /no: No such file or directory"),
        (["--secret-file", "/no"], "--secret-file cannot be read: /no: No such file or directory"),
        (["--context", "/no"], "--context cannot be read: /no: No such file or directory"),
        (["--ship=/no"], "--ship '/no' does not exist"),
        (["--ship-file", "/no"], "--ship-file '/no' does not exist"),
        (
            ["-m", "https://127.0.0.1:1", "--ca-file", "/no"],
            "--ca-file cannot be used: /no: No such file or directory",
        ),
    ],
)
def test_a_file_that_is_not_there_has_an_exit_code_of_its_own(args, message):
    done = tfrun("-w", "1", *args, "--", "x")
    assert (done.returncode, done.stdout, done.stderr) == (66, "", f"tfrun: {message}\n")
