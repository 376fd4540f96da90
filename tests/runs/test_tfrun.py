"""tfrun from the outside, on the embedded Mesos: real processes, real exit codes."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import (
    environment,
    finish,
    read_until,
    running_tfrun,
    standing_mesos,
    tfrun,
)
from tfmesos.launcher.run import STARTS
from tfmesos.version import __version__


def lines(text):
    return sorted(text.splitlines())


def test_every_task_knows_the_others_and_both_streams_come_home():
    script = "echo {job_name} {task_index} {ps_hosts} {worker_hosts}; echo err >&2"
    done = tfrun("-w", 3, "-s", 2, "--", "sh", "-c", script)
    assert done.returncode == 0
    names = ["ps:0", "ps:1", "worker:0", "worker:1", "worker:2"]
    assert lines(done.stderr) == [f"[{name}] err" for name in names]
    found = [re.fullmatch(r"\[(\w+):(\d)\] \1 \2 (\S+) (\S+)", x) for x in lines(done.stdout)]
    assert [f"{f[1]}:{f[2]}" for f in found] == names
    assert len({f[3] for f in found}) == len({f[4] for f in found}) == 1
    ps_hosts, worker_hosts = found[0][3].split(","), found[0][4].split(",")
    assert (len(ps_hosts), len(worker_hosts)) == (2, 3)
    assert len({*ps_hosts, *worker_hosts}) == 5
    assert all(re.fullmatch(r"127\.0\.0\.1:\d+", host) for host in (*ps_hosts, *worker_hosts))


def test_the_exit_code_and_the_report_are_those_of_the_task_that_failed():
    script = "echo so long; exit $((3*{task_index}))"
    done = tfrun("-w", 2, "--", "sh", "-c", script)
    assert done.returncode == 3
    assert "tfrun: worker:1 exited with 3 on " in done.stderr
    assert "  its last lines:\n    so long\n" in done.stderr


def test_a_killed_task_is_reported_with_its_signal():
    done = tfrun("-w", 1, "--", "sh", "-c", "kill -9 $$")
    assert done.returncode == 137
    assert "worker:0 was killed by SIGKILL" in done.stderr


def test_the_ps_need_not_end_for_the_run_to_end():
    script = "if [ {job_name} = ps ]; then exec sleep 600; else echo done; fi"
    done = tfrun("-w", 2, "-s", 1, "--", "sh", "-c", script)
    assert (done.returncode, done.stdout.count("done")) == (0, 2)


def test_no_ps_at_all_is_fine():
    done = tfrun("-w", 1, "-s", 0, "--", "sh", "-c", "echo [{ps_hosts}]")
    assert (done.returncode, done.stdout) == (0, "[worker:0] []\n")


def test_the_environment_of_a_task_says_who_it_is_and_who_the_others_are():
    names = "TFMESOS_DISTRIBUTED TFMESOS_JOB_NAME TFMESOS_TASK_INDEX TF_CONFIG PYTHONUNBUFFERED"
    code = f"import json, os; print(json.dumps([os.environ[n] for n in {names.split()!r}]))"
    done = tfrun("-w", 1, "--chief", "--evaluator", "--", sys.executable, "-c", code)
    assert done.returncode == 0
    (shown,) = [x for x in done.stdout.splitlines() if x.startswith("[chief:0]")]
    distributed, job, index, config, unbuffered = json.loads(shown.partition(" ")[2])
    assert (distributed, job, index, unbuffered) == ("1", "chief", "0", "1")
    assert json.loads(config)["task"] == {"type": "chief", "index": 0}
    assert {job: len(hosts) for job, hosts in json.loads(config)["cluster"].items()} == {
        "chief": 1,
        "worker": 1,
    }


def test_a_single_task_is_no_cluster_to_tensorflow():
    done = tfrun("-w", 1, "--", "sh", "-c", 'echo "[$TF_CONFIG]"')
    assert done.stdout == "[worker:0] []\n"


def test_env_sets_a_variable_and_the_runs_secret_stays_out_of_sight():
    done = tfrun("-w", 1, "--env", "GREETING=hello you", "--", "env")
    assert "[worker:0] GREETING=hello you\n" in done.stdout
    assert not [x for x in done.stdout.splitlines() if re.search("SECRET|_RUNNER", x)]


def test_arguments_keep_their_quoting_and_other_braces_stay():
    code = "import sys; print(sys.argv[1:])"
    arguments = ["a b", '{"x": {}}', "$HOME", "{task_index}", ""]
    done = tfrun("-w", 1, "--", sys.executable, "-c", code, *arguments)
    assert (
        done.stdout
        == f"[worker:0] {['a b', chr(123) + chr(34) + 'x' + chr(34) + ': {}}', '$HOME', '0', '']}\n"
    )


def test_a_single_argument_goes_to_a_shell():
    done = tfrun("-w", 1, "--", "echo {job_name} | tr a-z A-Z")
    assert done.stdout == "[worker:0] WORKER\n"


def test_a_command_that_does_not_exist_is_named():
    done = tfrun("-w", 1, "--", "no-such-command", "x")
    assert done.returncode == 127
    assert "no such command: no-such-command" in done.stderr


def test_tasks_run_where_tfrun_was_started(tmp_path):
    done = tfrun("-w", 1, "--", "pwd", cwd=tmp_path)
    assert done.stdout == f"[worker:0] {tmp_path}\n"


def test_initializer_and_finalizer_frame_the_command(tmp_path):
    config = tmp_path / "extra.json"
    config.write_text(json.dumps({"initializer": "echo first", "finalizer": "echo last; exit 9"}))
    done = tfrun("-w", 1, "-e", config, "--", "sh", "-c", "echo middle; exit 4")
    shown = [x.partition(" ")[2] for x in done.stdout.splitlines()]
    assert shown == ["first", "middle", "last"]
    assert done.returncode == 4
    assert "finalizer" in done.stderr


def test_a_failing_initializer_fails_the_task_and_the_command_is_not_run(tmp_path):
    config = tmp_path / "extra.json"
    config.write_text(json.dumps({"initializer": "exit 5"}))
    done = tfrun("-w", 1, "-e", config, "--", "echo", "never")
    assert done.returncode == 5
    assert "initializer exited with 5" in done.stderr and "never" not in done.stdout


@pytest.mark.parametrize(
    "flags, shown",
    [
        (["--logs", "none"], []),
        (["--logs", "worker:1,ps:*"], ["ps:0", "worker:1"]),
        (["--worker-logs", "0"], ["worker:0"]),
        (["--worker-logs", "*"], ["worker:0", "worker:1"]),
    ],
)
def test_only_the_chosen_output_is_shown(flags, shown):
    done = tfrun("-w", 2, "-s", 1, *flags, "--", "echo", "x")
    assert lines(done.stdout) == [f"[{name}] x" for name in shown]


@pytest.mark.parametrize("where", [[], ["--local-chief"]])
def test_a_single_task_has_a_tf_config_if_it_is_asked_for(where):
    show = ("sh", "-c", "echo config ${TF_CONFIG:-none}")
    assert "config none" in tfrun("-w", 1, *where, "--", *show).stdout
    done = tfrun("-w", 1, *where, "--tf-config", "always", "--", *show)
    config = json.loads(re.search(r"config (.*)", done.stdout)[1])
    assert config["task"] == {"type": "worker", "index": 0}
    assert list(config["cluster"]) == ["worker"] and len(config["cluster"]["worker"]) == 1


def the_python_of(done):
    assert done.returncode == 0, done.stderr
    return re.search(r"found (\S+)", done.stdout)[1]


FIND_PYTHON = ("--", "sh", "-c", "echo found $(command -v python3)")


def test_python_is_the_one_that_runs_tfrun_although_its_environment_is_not_activated():
    done = tfrun("-w", 1, *FIND_PYTHON, env={"PATH": "/usr/bin:/bin"})
    assert os.path.dirname(the_python_of(done)) == os.path.dirname(sys.executable)


def test_python_is_the_one_that_was_named(tmp_path):
    python = tmp_path / "python3"
    python.symlink_to(sys.executable)
    done = tfrun("-w", 1, "--python", python, *FIND_PYTHON)
    assert the_python_of(done) == str(python)


def test_a_tfrun_that_was_installed_as_a_tool_leaves_the_path_alone(tmp_path):
    tool = tmp_path / "tfrun"
    tool.write_text(f"#!{sys.executable}\nfrom tfmesos.tfrun import script\nscript()\n")
    tool.chmod(0o755)
    env = environment(PATH="/usr/bin:/bin")
    command = [tool, "-w", "1", "--", "sh", "-c", "echo found $PATH"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert the_python_of(done) == "/usr/bin:/bin"


def test_the_last_lines_of_a_failure_are_shown_even_without_logs():
    done = tfrun("-w", 1, "--logs", "none", "--", "sh", "-c", "echo oh no >&2; exit 1")
    assert done.stdout == "" and "    oh no\n" in done.stderr


@pytest.mark.parametrize(
    "args, message",
    [
        (["-w", "-1", "--", "x"], "-w/--nworker must not be negative, got -1"),
        (["-w", "1", "-s", "-2", "--", "x"], "-s/--nserver must not be negative, got -2"),
        (["-w", "two", "--", "x"], "argument -w/--nworker: invalid int value: 'two'"),
        (["-w", "0", "--", "x"], "no task to run: say how many workers with -w/--nworker"),
        (["-w", "1", "-Cw", "0", "--", "x"], "-Cw/--worker-cpus must be above 0, got 0"),
        (["-w", "1", "-Mw", "1", "--", "x"], "-Mw/--worker-mem must be at least 32 (MiB), got 1"),
        (["-w", "1", "-Gw", "0.5", "--", "x"], "-Gw/--worker-gpus must be a whole number, got 0.5"),
        (["-w", "1"], "the command is missing"),
        (["-w", "1", "--", ""], "the command must not be empty"),
        (["-s", "1", "--", " "], "the command must not be empty"),
        (["-w", "1", "--retry-codes", "256", "--", "x"], "--retry-codes must be exit codes from 1"),
        (["-w", "1", "--logs", "boss", "--", "x"], "--logs names no job of this run: 'boss'"),
        (["-w", "1", "-V", "/a", "--", "x"], "-V/--volume must be HOST:CONTAINER[:ro|rw], got"),
        (["-w", "1", "-V", "/a:/b", "--", "x"], "-V/--volume /a:/b needs an image"),
        (["-w", "1", "--env", "X", "--", "x"], "--env must be KEY=VALUE, got 'X'"),
        (["-w", "1", "--env", "1=2", "--", "x"], "--env needs a variable name before =, got '1'"),
        (["-w", "1", "-m", "a:b:c", "--", "x"], "-m/--master"),
        (["-w", "1", "-m", "ftp://x", "--", "x"], "-m/--master"),
        (["-w", "1", "-e", "/no/such", "--", "x"], "-e/--extra-config cannot be read: /no/such"),
        (["-w", "1", "-C", "lxc", "--", "x"], "-C/--containerizer-type must be MESOS or DOCKER"),
        (["-w", "1", "--start-timeout", "0", "--", "x"], "--start-timeout must be above 0, got 0"),
        (["-w", "1", "--start-timeout", "nan", "--", "x"], "--start-timeout must be above 0, got"),
        (["-w", "1", "--hang-timeout", "-5", "--", "x"], "--hang-timeout must be above 0, got -5"),
        (
            ["-w", "1", "--local-chief", "--hang-timeout", "5", "--", "x"],
            "--hang-timeout cannot be combined with a local chief",
        ),
        (["-w", "1", "--restarts", "-1", "--", "x"], "--restarts must be a whole number from 0 on"),
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
            "--retry-codes must be exit codes from 1 to 255, as in 137,143, got '1,x'",
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
        (["-w", "1", "--user", "nobody", "--", "x"], "--user 'nobody' needs an image or a Mesos"),
        (["-w", "1", "--cwd", "here", "--", "x"], "--cwd must be an absolute path, got 'here'"),
        (["-w", "1", "-V", "/a:b", "--", "x"], "-V/--volume must name absolute paths, got 'b' in"),
        (
            ["-w", "1", "-s", "1", "--local-chief", "--serve", "worker", "--", "x"],
            "--local-chief needs a command, and worker:0 is a bare server",
        ),
        (["-w", "1", "--advertise", "a b", "--", "x"], "--advertise must be HOST or HOST:PORT"),
        (
            ["-w", "1", "--constraint", "hostname:ODD", "--", "x"],
            "--constraint knows no operator 'ODD' in 'hostname:ODD': "
            "use UNIQUE, CLUSTER, GROUP_BY, MAX_PER, IS, LIKE, UNLIKE",
        ),
        (
            ["-w", "1", "--constraint", "hostname", "--", "x"],
            "--constraint must be [JOB=]FIELD:OPERATOR[:VALUE], got 'hostname'",
        ),
        (
            ["-w", "1", "--constraint", "rack:LIKE:(", "--", "x"],
            "--constraint 'rack:LIKE:(' has a bad regular expression: missing )",
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
            "--constraint names no job of this run: 'ps' in 'ps=hostname:UNIQUE' (there is worker)",
        ),
        (["-w", "1", "--logs", "all", "--worker-logs", "0", "--", "x"], "exclude each other"),
        (["-w", "1", "--serve", "ps", "--", "x"], "--serve names no job of this run: 'ps'"),
        (["-w", "1", "--serve", "worker", "--", "x"], "--serve leaves no task to run the command"),
        (["-w", "1", "--principal", "me", "--", "x"], "--principal 'me' needs a secret file, too"),
        (["-w", "1", "--secret-file", "/no", "--", "x"], "--secret-file cannot be read: /no"),
        (["-w", "1", "--token-file", "/dev/null", "--", "x"], "--token-file is empty: /dev/null"),
        (["-w", "1", "--key-file", "k", "--", "x"], "--key-file needs a certificate file, too"),
        (
            ["-w", "1", "-m", "https://127.0.0.1:1", "--ca-file", "/no/ca", "--", "x"],
            "--ca-file cannot be used: /no/ca",
        ),
        (["--frobnicate", "--", "x"], "--frobnicate"),
    ],
)
def test_bad_input_is_one_clear_line_and_nothing_is_started(args, message):
    done = tfrun(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "text, problem",
    [("[1]", "must be a JSON object"), ("{", "JSON object"), ("[" * 100_000, "nested")],
)
def test_an_extra_config_that_is_no_object_is_refused(tmp_path, text, problem):
    config = tmp_path / "extra.json"
    config.write_text(text)
    done = tfrun("-w", 1, "--extra_config", config, "--", "x")
    assert done.returncode == 2 and problem in done.stderr and done.stderr.count("\n") == 1


def test_more_gpus_than_this_machine_has_is_said_at_once(tmp_path):
    nvidia = tmp_path / "nvidia-smi"
    nvidia.write_text("#!/bin/sh\necho 'GPU 0: Fake (UUID: GPU-0)'\n")
    nvidia.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = tfrun("-w", 2, "-Gw", 1, "--", "true", env={"PATH": path})
    assert done.returncode == 75
    assert "the tasks ask for 2 gpus, this machine has 1" in done.stderr


def test_each_task_sees_its_own_gpus_and_a_ps_none(tmp_path):
    """No driver is here, and that is said, too."""
    nvidia = tmp_path / "nvidia-smi"
    nvidia.write_text("#!/bin/sh\nfor i in 0 1 2; do echo GPU $i: Fake '(UUID: GPU-'$i')'; done\n")
    nvidia.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CUDA_VISIBLE_DEVICES": "1,2"}
    show = ["sh", "-c", "echo sees ${CUDA_VISIBLE_DEVICES:-none}"]
    done = tfrun("-w", 2, "-Gw", 1, "-s", 1, "--", *show, env=env)
    assert done.returncode == 0
    assert "[ps:0] sees none" in done.stdout.splitlines()
    seen = sorted(line.split()[2] for line in done.stdout.splitlines() if "worker" in line)
    assert seen == ["GPU-1", "GPU-2"]
    assert done.stderr.count("no GPU is visible in this task: its node lacks the NVIDIA") == 2


def test_nvidia_smi_is_not_asked_when_no_gpu_is_wanted(tmp_path):
    nvidia = tmp_path / "nvidia-smi"
    nvidia.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\n")
    nvidia.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert tfrun("-w", 1, "--", "true", env={"PATH": path}).returncode == 0
    assert not (tmp_path / "asked").exists()


def test_dry_run_prints_what_would_be_sent_and_keeps_the_secret():
    done = tfrun(
        *("-w", 1, "-s", 1, "--image", "me/train", "-C", "docker", "-V", "/a:/b:ro", "--dry-run"),
        *("-m", "mesos-master", "-f", "-r", "ml", "-n", "my run", "--", "python", "x.py"),
    )
    assert done.returncode == 0
    sent = json.loads(done.stdout)
    assert sent["framework_info"]["name"] == "my run"
    assert sent["framework_info"]["roles"] == ["ml"]
    assert [info["name"] for info in sent["task_infos"]] == ["/job:ps/task:0", "/job:worker/task:0"]
    container = sent["task_infos"][0]["container"]
    assert container["docker"]["image"] == "me/train"
    assert container["docker"]["force_pull_image"] is True
    assert {"host_path": "/a", "container_path": "/b", "mode": "RO"} in container["volumes"]
    variables = sent["task_infos"][0]["command"]["environment"]["variables"]
    secret = [v["value"] for v in variables if v["name"] == "TFMESOS_SECRET"]
    assert secret == ["(256 random bits)"]


def test_help_groups_the_flags_and_shows_three_examples():
    shown = tfrun("--help").stdout
    assert shown.count("    tfrun ") == 3
    for group in ("what to run:", "resources of each task:", "where to run it:", "what you see:"):
        assert group in shown


def test_version():
    assert tfrun("--version").stdout == f"tfmesos {__version__}\n"


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_in_good_order(number, code):
    script = 'trap "echo cleaning; exit 0" TERM; echo up; while :; do sleep 0.05; done'
    with running_tfrun("-w", 2, "--", "sh", "-c", script) as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        run.send_signal(number)
        out, err = finish(run, 20)
    assert run.returncode == code
    assert lines(out) == ["[worker:0] cleaning", "[worker:1] cleaning"]
    assert "tfrun: " in err


def test_a_second_interrupt_ends_it_at_once():
    script = 'trap "echo I will not" TERM; echo up; while :; do sleep 0.05; done'
    with running_tfrun("-w", 1, "--", "sh", "-c", script) as run:
        read_until(run.stdout, "[worker:0] up")
        run.send_signal(signal.SIGINT)
        read_until(run.stdout, "[worker:0] I will not")
        run.send_signal(signal.SIGINT)
        _, err = finish(run, 20)
    assert run.returncode == 130 and "ended without waiting for worker:0" in err


def test_when_nobody_reads_the_output_the_run_ends():
    with running_tfrun("-w", 1, "--", "sh", "-c", "while :; do echo x; sleep 0.01; done") as run:
        read_until(run.stdout, "x")
        run.stdout.close()
        assert run.wait() == 141


def test_output_that_is_read_is_complete():
    code = "for i in range(20000): print(i)"
    done = tfrun("-w", 2, "--", sys.executable, "-c", code)
    for name in ("worker:0", "worker:1"):
        mine = [x.split()[1] for x in done.stdout.splitlines() if x.startswith(f"[{name}]")]
        assert mine == [str(i) for i in range(20000)]


IGNORED = "tfrun: standard input goes to no task: only a --local-chief reads it\n"


@pytest.mark.parametrize(
    "source, flags, said",
    [
        (b"some data\n", (), IGNORED),
        (b"", (), ""),
        (None, (), ""),
        (b"some data\n", ("--local-chief",), ""),
    ],
)
def test_input_that_nobody_reads_is_mentioned(source, flags, said):
    code = "import sys, time; print(sys.stdin.read()); time.sleep(0.5)"
    done = subprocess.run(
        [sys.executable, "-m", "tfmesos", *flags, "-w", "1", "--", sys.executable, "-c", code],
        **({"stdin": subprocess.DEVNULL} if source is None else {"input": source}),
        capture_output=True,
        env=environment(),
        timeout=60,
    )
    assert (done.returncode, done.stderr.decode()) == (0, said)
    assert (b"some data" in done.stdout) == bool(flags)


def test_a_file_as_input_is_mentioned_unless_it_is_empty(tmp_path):
    for text, said in (("x", IGNORED), ("", "")):
        (tmp_path / "input").write_text(text)
        with open(tmp_path / "input") as file:
            with running_tfrun("-w", 1, "--", "sleep", "0.5", stdin=file) as run:
                assert finish(run) == ("", said)


def test_verbose_tells_the_story_of_a_run_with_times_in_a_screen():
    done = tfrun("-v", "-w", 2, "-s", 1, "--", "echo", "hi")
    assert all(re.match(r"tfrun: +\d+\.\d\d s  ", line) for line in done.stderr.splitlines())
    story = [line[18:] for line in done.stderr.splitlines()]
    order = ["subscribed to", "offers of ", "launching ps:0, worker:0, worker:1 on "]
    order += [r"\(3 of 3\)", "starting 3 tasks", r"worker:\d exited with 0 \(", "leaving Mesos"]
    found = [next(n for n, line in enumerate(story) if re.search(what, line)) for what in order]
    assert found == sorted(found) and len(story) <= 20, done.stderr
    assert "event: " not in done.stderr


def test_very_verbose_tells_every_event():
    done = tfrun("-vv", "-w", 1, "--", "echo", "hi")
    assert re.search(r"\d s  event: TaskRegistered\(", done.stderr)


def test_an_unreachable_master_is_named_with_what_was_tried():
    done = tfrun("-w", 1, "-m", "127.0.0.1:1", "--start-timeout", 2, "--", "true")
    assert done.returncode == 69
    assert "no Mesos master after" in done.stderr and "127.0.0.1:1" in done.stderr


def test_two_runs_share_one_mesos_that_stands_alone(tmp_path):
    go = tmp_path / "go"
    script = f"echo {{worker_hosts}}; until [ -e {go} ]; do sleep 0.05; done"
    flags = ("--agents", "2", "--resources", "cpus:8;mem:16384;ports:[31000-31999]")
    with standing_mesos(*flags) as url:
        command = ("-m", url, "-w", 2, "--", "sh", "-c", script)
        with running_tfrun(*command) as first, running_tfrun(*command) as second:
            shown = [read_until(r.stdout, "[worker:0]", "[worker:1]") for r in (first, second)]
            go.touch()
            assert [run.wait() for run in (first, second)] == [0, 0]
    ports = {int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", str(shown))}
    assert len(ports) == 4 and ports <= set(range(31000, 32000))


HERE = "[ {job_name} = ps ] && exec sleep 600; [ {task_index} = 1 ] || { read line; echo $line; }"


def test_the_local_chief_reads_the_keyboard_and_writes_to_the_screen_itself():
    done = subprocess.run(
        [sys.executable, "-m", "tfmesos", "--local-chief", "-w", "2", "-s", "1", "--", HERE],
        input="typed\n",
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert (done.returncode, done.stdout) == (0, "typed\n")


def test_the_end_of_the_local_chief_is_reported_like_any_other():
    done = tfrun("--local-chief", "-w", 1, "--", "sh", "-c", "exit 5")
    assert done.returncode == 5
    assert done.stderr == "tfrun: worker:0 exited with 5 on this machine\n"


def test_the_local_chief_is_stopped_with_the_others():
    script = "[ {task_index} = 1 ] && exit 6; sleep 600"
    done = tfrun("--local-chief", "-w", 2, "--", "sh", "-c", script)
    assert done.returncode == 6 and "ended after it" not in done.stderr


def test_a_task_that_ends_in_silence_has_no_last_lines():
    done = tfrun("-w", 2, "--", "sh", "-c", "[ {task_index} = 0 ] && exec sleep 600; exit 42")
    assert done.returncode == 42
    assert re.fullmatch(r"tfrun: worker:1 exited with 42 on \S+\n", done.stderr)


def test_all_of_many_tasks_begin_though_not_at_the_same_moment():
    done = tfrun("-w", STARTS + 8, "--", "echo {task_index}")
    assert done.returncode == 0, done.stderr
    said = [line.partition("] ")[2] for line in done.stdout.splitlines()]
    assert sorted(map(int, said)) == list(range(STARTS + 8))


def test_a_task_that_dies_before_its_runner_can_speak_shows_its_sandbox():
    done = tfrun("-w", 1, "--python", "/no/such/python", "--", "true")
    assert done.returncode == 127
    assert "tfrun: worker:0 exited with 127 on " in done.stderr
    assert re.search(r"  its last lines:\n    .*/no/such/python: not found\n", done.stderr)


def test_ctrl_c_in_a_pipeline_is_as_orderly_as_without(tmp_path):
    """The reader dies of it, too; that is no second Ctrl-C."""
    saved = tmp_path / "saved"
    script = f'trap "sleep 0.5; touch {saved}; exit 0" TERM; while :; do echo x; sleep 0.05; done'
    with running_tfrun("-w", 1, "--", "sh", "-c", script) as run:
        read_until(run.stdout, "x")
        run.send_signal(signal.SIGINT)
        run.stdout.close()
        assert run.wait() == 130
    assert saved.exists()


def test_a_killed_launcher_takes_its_local_chief_with_it():
    script = "echo up; sleep 600"
    with running_tfrun("-w", 2, "--local-chief", "--", "sh", "-c", script) as run:
        read_until(run.stdout, "[worker:1] up")
        run.kill()


def test_bytes_that_are_no_text_arrive_as_they_are():
    done = subprocess.run(
        [sys.executable, "-m", "tfmesos", "-w", "1", "--", "printf", "%s", b"\xff"],
        capture_output=True,
        env=environment(),
    )
    assert done.returncode == 0 and done.stdout.startswith(b"[worker:0] ")


def test_a_port_that_is_taken_is_named():
    with socket.create_server(("0.0.0.0", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = tfrun("-w", 1, "--advertise", address, "--", "true")
    assert done.returncode == 2
    assert f"tfrun: --advertise {address}: cannot listen there" in done.stderr


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
def test_tasks_find_the_launcher_where_it_says_it_is(host):
    done = tfrun("-w", 1, "--advertise", host, "--start-timeout", 30, "--", "echo", "found")
    assert (done.returncode, done.stdout) == (0, "[worker:0] found\n")


def test_a_directory_that_is_gone_is_named(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", f"rmdir {gone}; exec {sys.executable} -m tfmesos -w 1 -- true"],
        cwd=gone,
        capture_output=True,
        text=True,
        env=environment(PYTHONPATH=str(Path(__file__).parents[2])),
    )
    assert done.returncode == 2
    assert "the current directory does not exist any more" in done.stderr


def test_an_ignored_hangup_stays_ignored():
    script = (
        f"trap '' HUP; exec {sys.executable} -m tfmesos -w 1 -- sh -c 'echo up; read x; echo on'"
    )
    go = subprocess.Popen(
        ["sh", "-c", script], stdout=subprocess.PIPE, text=True, env=environment(), bufsize=1
    )
    with go:
        read_until(go.stdout, "[worker:0] up")
        go.send_signal(signal.SIGHUP)
        assert go.wait() == 0


def test_output_that_cannot_be_written_is_said_with_its_reason():
    with open("/dev/full", "w") as full:
        with running_tfrun("-w", 1, "--", "yes", "x", stdout=full) as run:
            assert run.wait() == 74
            assert "the output cannot be written: " in run.stderr.read()


@pytest.mark.parametrize("_attempt", range(4))
def test_lost_output_is_said_although_the_run_is_over_by_then(_attempt):
    with open("/dev/full", "w") as full:
        with running_tfrun("-w", 1, "--", "echo", "x", stdout=full) as run:
            assert run.wait() == 74
            assert "the output cannot be written: " in run.stderr.read()


@pytest.mark.parametrize("closing", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_do_no_harm(closing, tmp_path):
    proof = tmp_path / "proof"
    script = f"{sys.executable} -m tfmesos -w 1 -- sh -c 'echo x; touch {proof}' {closing}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, env=environment())
    assert done.returncode == 0 and proof.exists()


def test_a_dry_run_that_nobody_reads_is_no_fault():
    script = (
        f"{sys.executable} -m tfmesos --dry-run -w 200 -- true | head -1; exit ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment())
    assert (done.returncode, done.stderr) == (141, "")


def test_of_several_masters_the_first_need_not_exist():
    with standing_mesos() as url:
        done = tfrun("-m", f"no-such-host.invalid,{url}", "-w", 1, "--", "echo", "found")
    assert (done.returncode, done.stdout) == (0, "[worker:0] found\n")
