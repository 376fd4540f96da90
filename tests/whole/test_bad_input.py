"""Bad input is one clear line, and nothing is started."""

import subprocess
import sys

import pytest

from tests.commands import tfrun
from tests.sentences import names


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


@pytest.mark.parametrize(
    "args, message",
    [
        (["-w", "-1", "--", "x"], "-w/--nworker must not be negative, got -1"),
        (["-w", "1", "-s", "-2", "--", "x"], "-s/--nserver must not be negative, got -2"),
        (
            ["-w", "two", "--", "x"],
            "argument -w/--nworker: must be a number, or MIN:MAX as in 2:8, got 'two'",
        ),
        (["-w", "0", "--", "x"], "no task to run: say how many workers with -w/--nworker"),
        (["-w", "1", "-Cw", "0", "--", "x"], "-Cw/--worker-cpus must be above 0, got 0"),
        (["-w", "1", "-Mw", "1", "--", "x"], "-Mw/--worker-mem must be at least 32 (MiB), got 1"),
        (["-w", "1", "-Gw", "0.5", "--", "x"], "-Gw/--worker-gpus must be a whole number, got 0.5"),
        (["-w", "1"], "the command is missing"),
        (["-w", "1", "--", ""], "the command must not be empty"),
        (["-s", "1", "--", " "], "the command must not be empty"),
        (["-w", "1", "--retry-codes", "256", "--", "x"], "--retry-codes must be exit codes from 1"),
        (
            ["-w", "1", "--logs", "boss", "--", "x"],
            "--logs names a job that is not in this run: 'boss'",
        ),
        (["-w", "1", "-V", "/a", "--", "x"], "-V/--volume must be HOST:CONTAINER[:ro|rw], got"),
        (["-w", "1", "-V", "/a:/b", "--", "x"], "-V/--volume /a:/b needs an image"),
        (["-w", "1", "--env", "NOT_SET", "--", "x"], "--env 'NOT_SET' is not set in this shell"),
        (["-w", "1", "--env", "1=2", "--", "x"], "--env needs a variable name before =, got '1'"),
        (["-w", "1", "-m", "a:b:c", "--", "x"], "-m/--master"),
        (["-w", "1", "-m", "", "--", "x"], "-m/--master must name a master, or be local, got ''"),
        (["-w", "1", "-r", "a b", "--", "x"], "-r/--role must be a name without spaces, got 'a b'"),
        (["-w", "1", "-m", "ftp://x", "--", "x"], "-m/--master"),
        (["-w", "1", "-C", "lxc", "--", "x"], "-C/--containerizer-type must be MESOS or DOCKER"),
        (["-w", "1", "--start-timeout", "0", "--", "x"], "--start-timeout must be above 0, got 0"),
        (["-w", "1", "--start-timeout", "nan", "--", "x"], "--start-timeout must be a number of"),
        (["-w", "1", "-Mw", "2X", "--", "x"], "-Mw/--worker-mem must be a number of MiB, or a"),
        (["-w", "1", "--hang-timeout", "-5", "--", "x"], "--hang-timeout must be above 0, got -5"),
        (
            ["-w", "1", "--local-chief", "--hang-timeout", "5", "--", "x"],
            "--hang-timeout cannot be combined with a local chief",
        ),
        (
            ["-w", "1", "--restarts", "-1", "--", "x"],
            "--restarts must be a whole number of 0 or more",
        ),
        (
            ["-w", "1", "--restart-policy", "ever", "--", "x"],
            "--restart-policy must be one of never, task, all, got 'ever'",
        ),
        (
            ["-w", "1", "--tf-config", "no", "--", "x"],
            "--tf-config must be auto or always, got 'no'",
        ),
        (
            ["-w", "1", "--retry-codes", "1,x", "--", "x"],
            "--retry-codes must be exit codes from 1 to 255, as in 137,143 or 128-255, got '1,x'",
        ),
        (
            ["-w", "2", "--local-chief", "--restart-policy", "all", "--", "x"],
            "--restart-policy 'all' cannot be combined with a local chief",
        ),
        (
            ["-w", "1", "-m", "h", "--image", "a b", "--", "x"],
            "--image must be the name of an image",
        ),
        (
            ["-w", "1", "-m", "h", "--image=-v/:/host", "--", "x"],
            "--image must be the name of an image, got '-v/:/host'",
        ),
        (
            ["-w", "1", "--user", "nobody", "--", "x"],
            "--user 'nobody' needs an image or a cluster (-m)",
        ),
        (["-w", "1", "--cwd", "here", "--", "x"], "--cwd must be an absolute path, got 'here'"),
        (["-w", "1", "-V", "/a:b", "--", "x"], "-V/--volume must name absolute paths, got 'b' in"),
        (
            ["-w", "1", "-s", "1", "--local-chief", "--serve", "worker", "--", "x"],
            "--local-chief needs a command, but worker:0 is a bare server",
        ),
        (["-w", "1", "--advertise", "a b", "--", "x"], "--advertise must be HOST or HOST:PORT"),
        (
            ["-w", "1", "--constraint", "hostname:ODD", "--", "x"],
            "--constraint has the unknown operator 'ODD' in 'hostname:ODD': "
            "use UNIQUE, CLUSTER, GROUP_BY, MAX_PER, IS, LIKE, UNLIKE",
        ),
        (
            ["-w", "1", "--constraint", "hostname", "--", "x"],
            "--constraint must be FIELD:OPERATOR[:VALUE], such as hostname:UNIQUE, got 'hostname'",
        ),
        (
            ["-w", "1", "--constraint", "rack:LIKE:(", "--", "x"],
            "--constraint 'rack:LIKE:(' has an invalid regular expression: missing )",
        ),
        (
            ["-w", "1", "--constraint", "rack:IS", "--", "x"],
            "--constraint 'rack:IS' needs a value after IS:",
        ),
        (
            ["-w", "1", "--constraint", "rack:MAX_PER:many", "--", "x"],
            "--constraint 'rack:MAX_PER:many' needs a whole number above 0 after MAX_PER:",
        ),
        (
            ["-w", "1", "--constraint", "ps=hostname:UNIQUE", "--", "x"],
            "--constraint names a job that is not in this run: 'ps' in 'ps=hostname:UNIQUE'",
        ),
        (["-w", "1", "--logs", "all", "--worker-logs", "0", "--", "x"], "are mutually exclusive"),
        (
            ["-w", "2", "--worker-logs", "0,x", "--", "x"],
            "--worker-logs must be numbers of workers below 2, or *, got 'x'",
        ),
        (
            ["-w", "1", "--worker-logs", "1", "--", "x"],
            "--worker-logs must be numbers of workers below 1, or *, got '1'",
        ),
        (
            ["-w", "1", "--advertise", "no-such-host.invalid", "--", "x"],
            "--advertise 'no-such-host.invalid' cannot be resolved on this machine",
        ),
        (
            ["-w", "1", "--serve", "ps", "--", "x"],
            "--serve names a job that is not in this run: 'ps'",
        ),
        (["-w", "1", "--serve", "worker", "--", "x"], "--serve leaves no task to run the command"),
        (["-w", "1", "--principal", "me", "--", "x"], "--principal 'me' needs a secret file, too"),
        (["-w", "1", "--token-file", "/dev/null", "--", "x"], "--token-file is empty: /dev/null"),
        (["-w", "1", "--key-file", "k", "--", "x"], "--key-file needs a certificate file, too"),
        (["--frobnicate", "--", "x"], "--frobnicate"),
    ],
)
def test_bad_input_is_one_clear_line_and_nothing_is_started(args, message):
    done = tfrun(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and done.stderr.count("\n") == 1


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
