"""The command line is made of the tables, and forgives no flag it does not know."""

from __future__ import annotations

import pytest

from tests.sentences import names
from tfmesos.cli.arguments import FLAGS, build_parser, in_flags, parse, settings_of
from tfmesos.cli.flag_inputs import inputs_of
from tfmesos.command_line import Answer
from tfmesos.config.job import Job
from tfmesos.config.settings import SETTINGS
from tfmesos.errors import SpecError


@pytest.mark.parametrize(
    "wrong, right",
    [
        ("--workers", "-w/--nworker"),
        ("--dry", "--dry-run"),
        ("--dry=tfjob", "--dry-run"),
        ("--containerizer", "-C/--containerizer-type"),
        ("--hang_timeout", "--hang-timeout"),
        ("--worker-cpu", "-Cw/--worker-cpus"),
        ("--cpus", "-Cw/--worker-cpus"),
        ("--gpus=1", "-Gw/--worker-gpus"),
        ("--mem", "-Mw/--worker-mem"),
        ("--memory", "-Mw/--worker-mem"),
        ("--gpu", "-Gw/--worker-gpus"),
        ("--gpu-resources", "--gpu-resource"),
    ],
)
def test_a_wrong_flag_is_one_line_with_the_nearest_right_one(wrong, right, capsys):
    with pytest.raises(SystemExit) as caught:
        parse(["-w", "1", wrong, "--", "true"])
    name = wrong.partition("=")[0]
    line = f"tfrun: {name} is not a flag of tfrun: did you mean {right}? (see tfrun --help)\n"
    assert (caught.value.code, capsys.readouterr().err) == (2, line)


@pytest.mark.parametrize("wrong", ["--frobnicate", "--wat"])
def test_a_flag_that_looks_like_none_is_just_named(wrong, capsys):
    with pytest.raises(SystemExit):
        parse([wrong, "--", "true"])
    assert names(capsys.readouterr().err, f"tfrun: {wrong} ", "tfrun --help")


def test_a_wrong_flag_cannot_write_to_the_terminal(capsys):
    with pytest.raises(SystemExit):
        parse(["--\x1b[2J", "--", "true"])
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("argv, right", [(["lsit"], "list"), (["stauts", "x"], "status")])
def test_a_word_near_a_command_is_one_line_with_that_command(argv, right, capsys):
    with pytest.raises(SystemExit) as caught:
        parse(argv)
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and argv[0] in said and f"did you mean {right}?" in said


def test_the_word_help_asks_for_it():
    with pytest.raises(Answer, match=r"^usage: tfrun "):
        parse(["help"])


def test_without_arguments_a_few_lines_of_usage_point_to_the_help(capsys):
    with pytest.raises(SystemExit) as caught:
        parse([])
    shown = capsys.readouterr()
    *usage, last = shown.err.splitlines()
    assert (caught.value.code, shown.out, len(usage)) == (2, "", 4)
    assert usage[0].startswith("usage: tfrun -w N")
    assert all(" tfrun " in line for line in usage) and "tfrun -h" in last


def test_no_flag_takes_from_the_next_word_a_value_that_it_may_go_without():
    assert [action for action in build_parser()._actions if action.nargs == "?"] == []


@pytest.mark.parametrize(
    "argv, ship, cmd",
    [
        (["--ship", "python", "train.py"], ".", ["python", "train.py"]),
        (["--ship=src", "python", "train.py"], "src", ["python", "train.py"]),
        (["-Gw", "1", "-w2", "--ship", "--", "run", "--ship"], ".", ["run", "--ship"]),
        (["-w", "2", "run", "--ship"], None, ["run", "--ship"]),
        (["--name", "--ship"], None, []),
        (["--ship"], ".", []),
    ],
)
def test_a_flag_that_may_go_without_a_value_has_it_after_a_sign_only(argv, ship, cmd):
    if argv == ["--name", "--ship"]:  # as ever: a flag is no value
        with pytest.raises(SystemExit):
            parse(argv)
        return
    args = parse(argv)
    assert (args.ship, args.cmd) == (ship, cmd)


@pytest.mark.parametrize(
    "argv, right",
    [
        (["--ship", "src", "-w", "2", "--", "run"], "--ship=src"),
        (["-w", "2", "--ship", "src", "no-such-program"], "--ship=src"),
        (["-w", "2", "--ship", "sh", "--", "sh", "x.sh"], "--ship=sh"),  # a directory, too
        (["-w", "2", "--ship", "code.zip", "--", "run"], "--ship=code.zip"),
        (["-w", "2", "--ship", "https://example.org/a.zip", "--", "x"], "--ship=https://"),
        (["-w", "2", "--dry-run", "tfjob", "--", "run"], "--dry-run=tfjob"),
        (["job.yaml", "--dry-run", "kubernetes"], "--dry-run=kubernetes"),
        (["-w", "2", "--pause-on-failure", "10m", "--", "run"], "--pause-on-failure=10m"),
    ],
)
def test_a_value_behind_a_blank_is_refused_where_it_needs_an_equals_sign(here, argv, right):
    with pytest.raises(SpecError) as caught:
        parse(argv)
    assert in_flags(caught.value).startswith(f"{right.partition('=')[0]} takes its value after =: ")
    assert right in in_flags(caught.value)


@pytest.mark.parametrize(
    "argv, cmd",
    [
        (["-w", "2", "--ship", "--", "src"], ["src"]),
        (["-w", "2", "--ship", "--", "sh", "train.sh"], ["sh", "train.sh"]),
        (["-w", "2", "--ship", "sh", "train.sh"], ["sh", "train.sh"]),
        (["-w", "2", "--ship", "--", "sh", "-c", "true", "--"], ["sh", "-c", "true", "--"]),
        (["-w", "2", "--ship", "-v", "sh", "--", "x"], ["sh", "--", "x"]),
        (["-w", "2", "--dry-run", "--", "yaml"], ["yaml"]),
        (["--dry-run", "-w", "1", "yaml"], ["yaml"]),
        (["-w", "2", "--pause-on-failure", "sleep", "10m"], ["sleep", "10m"]),
    ],
)
def test_a_command_is_no_value_though_a_directory_or_format_has_its_name(here, argv, cmd):
    assert parse(argv).cmd == cmd


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A directory with those of the names of a command and of a source."""
    (tmp_path / "sh").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "code.zip").touch()
    monkeypatch.chdir(tmp_path)


def test_flags_that_switch_something_off_say_so():
    negative = [flag for flag in FLAGS if flag.flags and flag.kind is bool and flag.default]
    assert {flag.name for flag in negative} >= {"--no-record", "--no-reserve-port"}
    for action in build_parser()._actions:
        if action.dest in {flag.field for flag in negative}:
            assert action.help.startswith("do not ") and "default" not in action.help
    for flag in negative:
        assert not flag.help.startswith("do not ")  # of the setting, whose value may be True


def test_help_writes_a_value_that_may_be_left_out_behind_its_equals_sign():
    shown = build_parser().format_help()
    assert "  --ship[=DIR] " in shown and "  --dry-run[=FORMAT] " in shown


def test_help_names_every_format_of_a_dry_run():
    (action,) = [one for one in build_parser()._actions if one.dest == "dry_run"]
    for form in ("yaml", "tfjob", "marathon", "mesos", "kubernetes"):
        assert f"({form})" in action.help


@pytest.mark.parametrize("spelling", ["-C", "--containerizer-type", "--containerizer_type"])
def test_the_containerizer_is_named_as_tfmesos_had_it(spelling):
    args = parse([spelling, "DOCKER", "-w", "1", "--", "true"])
    assert settings_of(args)["containerizer_type"] == "DOCKER"


@pytest.mark.parametrize("words", [["-C", "-w", "1"], ["-w", "1", "-C"]])
def test_a_containerizer_without_a_type_is_the_usual_one(words):
    for end in (["--", "true"], ["--dry-run"]):
        args = parse([*words, *end])
        assert (settings_of(args)["containerizer_type"], args.worker_num) == (None, 1)
    assert parse(["-w", "1", "--", "x", "-C", "-w"]).cmd == ["x", "-C", "-w"]
    assert settings_of(parse(["-C", "docker", "--", "x"]))["containerizer_type"] == "docker"


def test_flags_become_settings_and_what_is_not_given_is_none():
    args = parse(["-w", "1", "-V", "/a:/b", "-V", "/c:/d", "--env", "A=b=c", "-f", "--", "true"])
    given = {field: value for field, value in settings_of(args).items() if value is not None}
    assert given == {
        "volumes": ["/a:/b", "/c:/d"],
        "env": {"A": "b=c"},
        "force_pull_image": True,
    }


def test_every_setting_with_a_flag_comes_from_the_command_line():
    fields = {setting.field for setting in SETTINGS if setting.flags}
    assert settings_of(parse(["-w", "1", "--", "true"])).keys() == fields


def test_flags_become_jobs_and_the_chief_is_like_a_worker_unless_told_otherwise():
    flags = ["-w", "2", "-s", "1", "-Cw", "2", "-Gw", "1", "-Ms", "64", "--chief", "--evaluator"]
    args = parse([*flags, "--chief-cpus", "4", "--serve", "ps", "--", "a", "b"])
    assert [repr(job) for job in inputs_of(args).config().jobs] == [
        "Job('ps', 1, mem=64.0)",
        "Job('worker', 2, cpus=2.0, gpus=1, cmd=('a', 'b'))",
        "Job('chief', 1, cpus=4.0, gpus=1, cmd=('a', 'b'))",
        "Job('evaluator', 1, cpus=2.0, gpus=1, cmd=('a', 'b'))",
    ]


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.name)
def test_an_error_names_the_flag_of_the_field(flag):
    error = SpecError(flag.job, flag.field, "is wrong")
    assert in_flags(error) == f"{flag.name} is wrong"


def test_an_error_of_one_job_names_the_flag_for_all():
    error = SpecError("worker", "constraints", "are wrong")
    assert in_flags(error) == "--constraint are wrong"


def test_a_job_of_any_name_has_a_number_and_resources():
    args = parse(
        ["-w", "1", "--job", "board=1", "--job", "gpu=2:gpus=1,mem=2G,cpus=0.5", "--", "x"]
    )
    assert [repr(job) for job in inputs_of(args).config().jobs] == [
        "Job('worker', 1, cmd='x')",
        "Job('board', 1, cmd='x')",
        "Job('gpu', 2, cpus=0.5, mem=2048.0, gpus=1, cmd='x')",
    ]


def test_a_job_by_name_changes_one_of_the_usual_flags():
    args = parse(["-Cw", "2", "--job", "worker=3:mem=64", "--", "x"])
    assert inputs_of(args).config().jobs == (Job("worker", 3, cpus=2, mem=64, cmd="x"),)


@pytest.mark.parametrize(
    "text, problem",
    [
        ("worker", "must be NAME=COUNT[:cpus=..,mem=..]"),
        ("=2", "must be NAME=COUNT"),
        ("a=-1", "must be NAME=COUNT"),
        ("a=2:mm=5", "accepts cpus, gpus, mem, disk, not 'mm=5' in 'a=2:mm=5': did you mean mem?"),
        ("a=2:mem", "mem needs a value in 'a=2:mem': mem=VALUE"),
        ("a=2:mem=", "mem needs a value in 'a=2:mem=': mem=VALUE"),
        ("a=2:cpus=1,cpus=2", "has cpus twice in 'a=2:cpus=1,cpus=2'"),
        ("a=2:cpus=x", "cpus must be a number, got 'x' in 'a=2:cpus=x'"),
    ],
)
def test_a_wrong_job_is_named(text, problem):
    args = parse(["--job", text, "--", "x"])
    with pytest.raises(SpecError) as caught:
        inputs_of(args).config()
    assert in_flags(caught.value).startswith(f"--job {problem}")


@pytest.mark.parametrize(
    "argv, problem",
    [
        (["--job", "a=1", "--job", "a=2"], "names 'a' twice: 'a=2'"),
        (["--job", "worker=1", "-w", "2"], "'worker=1' and -w/--nworker are mutually exclusive"),
        (["--chief", "--job", "chief=0"], "'chief=0' and --chief are mutually exclusive"),
        (["-Ms", "64", "--job", "ps=1:mem=1G"], "'ps=1:mem=1G' and -Ms/--server-mem are mutually"),
    ],
)
def test_nothing_is_said_twice_of_a_job(argv, problem):
    with pytest.raises(SpecError) as caught:
        inputs_of(parse([*argv, "--", "x"])).config()
    assert in_flags(caught.value).startswith(f"--job {problem}")


def test_a_variable_without_a_value_is_that_of_this_shell(monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline=1")
    monkeypatch.delenv("NOT_SET", raising=False)
    args = parse(["-w", "1", "--env", "WANDB_MODE", "--env", "A=b", "--", "true"])
    assert settings_of(args)["env"] == {"WANDB_MODE": "offline=1", "A": "b"}
    with pytest.raises(SpecError, match=r"'NOT_SET' is not set .* KEY=VALUE"):
        settings_of(parse(["-w", "1", "--env", "NOT_SET", "--", "true"]))


def test_a_variable_for_the_short_flag_of_the_extra_config_points_to_env():
    with pytest.raises(SpecError) as caught:
        settings_of(parse(["-w", "1", "-e", "TOKEN=hush", "--", "true"]))
    said = in_flags(caught.value)
    assert said.startswith("-e/--extra-config names a file") and "--env TOKEN=..." in said
    assert "hush" not in said


@pytest.mark.parametrize("field, flag", [("context", "--context"), ("extra_config", "-e")])
def test_no_more_of_a_file_is_read_than_could_be_used(field, flag, tmp_path):
    with open(tmp_path / "endless", "wb") as file:
        file.truncate(2**40)  # and takes no room
    with pytest.raises(SpecError) as caught:
        settings_of(parse([flag, str(tmp_path / "endless"), "-w", "1", "--", "x"]))
    assert str(caught.value) == f"{field} is longer than 1,048,576 bytes: {tmp_path}/endless"


def test_a_wrong_name_of_a_job_is_told_from_the_name_of_the_run():
    args = parse(["-n", "mine", "--job", "worker-0=1", "--job", "worker=1", "--", "x"])
    with pytest.raises(SpecError) as caught:
        inputs_of(args).config()
    assert names(in_flags(caught.value), "--job 'worker-0'", "letters, digits and _")


def test_a_dry_run_has_a_format_only_after_an_equals_sign():
    assert parse(["-w", "1", "--dry-run", "--", "x"]).dry_run == "words"
    assert parse(["--dry-run=yaml", "-w", "1", "x", "--dry-run"]).cmd == ["x", "--dry-run"]
    with pytest.raises(SpecError, match=r"^dry_run must be one of words, yaml, mesos, \w+"):
        parse(["--dry-run=foo", "-w", "1", "x"])


@pytest.mark.parametrize(
    "argv, said",
    [
        (["lisst"], "did you mean list?"),
        (["worker-mem"], "--worker-mem"),
        (["xyzzy", "-v"], "neither a command"),
        (["-np", "4", "--", "true"], "-w N"),
        (["--nproc-per-node", "4", "--", "true"], "-w N"),
        (["--nnodes=2", "--", "true"], "-w N"),
        (["-n", "4", "--", "true"], "-w 4 starts 4 workers"),
    ],
)
def test_what_other_tools_call_it_is_answered_with_our_word(capsys, argv, said):
    with pytest.raises(SystemExit) as stop:
        parse(argv)
    error = capsys.readouterr().err
    assert stop.value.code == 2 and said in error and error.count("\n") == 1


def test_a_number_is_a_name_if_there_are_tasks():
    assert parse(["-n", "4", "-w", "2", "--", "true"]).name == "4"
