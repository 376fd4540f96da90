"""What is too long for a process of Linux, or for a task, is refused before the start."""

from __future__ import annotations

import json
import subprocess

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.builders import workers
from tests.sentences import names
from tfmesos.config.exec_limits import MAX_ENVIRONMENT, MAX_STRING
from tfmesos.config.job import Job
from tfmesos.engines.mesos.runner_command import MAX_COMMAND, runner_command
from tfmesos.errors import SpecError
from tfmesos.inputs.merging import make_config
from tfmesos.launcher.links.messages import stub_settings
from tfmesos.shared.address import join_address

LONGEST = "x" * (MAX_STRING - len("BIG="))


def run_here(*arguments, **variables):
    return subprocess.run(["true", *arguments], env=variables, check=True)


def test_linux_takes_exactly_what_we_let_pass():
    run_here(BIG=LONGEST)
    run_here("x" * MAX_STRING)
    with pytest.raises(OSError, match="Argument list too long"):
        run_here(BIG=LONGEST + "x")
    with pytest.raises(OSError, match="Argument list too long"):
        run_here("x" * (MAX_STRING + 1))


@pytest.mark.parametrize("filling", ["x", "é"], ids=["ASCII", "two bytes each"])
def test_a_variable_that_is_too_long_is_refused_with_the_numbers(filling):
    def config(more):
        return make_config(workers(), env={"BIG": LONGEST[4:] + filling * more})

    assert config(4 // len(filling.encode())).env["BIG"].endswith(filling)
    with pytest.raises(SpecError) as caught:
        config(6 // len(filling.encode()))
    size = f"{MAX_STRING + 2:,}"
    expected = f"env has {size} bytes in BIG=...; Linux allows at most 131,071 in one variable"
    assert str(caught.value) == expected


def test_variables_that_are_too_long_together_are_refused_with_the_numbers():
    one = "x" * (64 * 1024 - len("V00=") - 1)  # and its zero byte
    fits = {f"V{number:02}": one for number in range(16)}
    assert len(make_config(workers(), env=fits).env) == 16
    with pytest.raises(SpecError, match=r"env has 1,048,580 bytes in all; at most 1,048,576 are"):
        make_config(workers(), env={**fits, "A": "x"})
    assert MAX_ENVIRONMENT == 1_048_576


@pytest.mark.parametrize(
    "cmd", ["echo " + "x" * MAX_STRING, ["echo", "ok", "x" * (MAX_STRING + 5)]]
)
def test_a_command_with_an_argument_that_is_too_long_is_refused_with_the_numbers(cmd):
    Job("worker", 1, cmd=["echo", "x" * MAX_STRING])
    with pytest.raises(SpecError) as caught:
        Job("worker", 1, cmd=cmd)
    said = str(caught.value)
    assert names(said, "job 'worker': cmd", "131,076 bytes", "131,071", "into a file")


@pytest.mark.parametrize("name", ["initializer", "finalizer"])
def test_an_initializer_or_finalizer_that_is_too_long_is_refused_as_well(name):
    with pytest.raises(
        SpecError, match=rf"extra_config has an argument of 131,072 bytes; .* \({name}\)"
    ):
        make_config(workers(), extra_config={name: "x" * (MAX_STRING + 1)})


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"python": "/" + "x" * 700, "master": "m"}, r"python is too long: it takes 701 bytes"),
        ({"python": "é" * 120, "master": "m"}, r"python is too long: it takes 722 bytes"),
        ({"advertise": "h" * 254}, "advertise .* HOST:PORT, got 'hhh"),
        ({"advertise": 'a"b'}, "advertise .* HOST:PORT, got 'a\"b'"),
    ],
)
def test_what_has_no_room_in_a_task_is_refused(settings, words):
    with pytest.raises(SpecError, match=words):
        make_config(workers(), **settings)


def test_a_job_name_has_room_in_a_task_id():
    Job("j" * 63, 1)
    with pytest.raises(SpecError, match="name must have at most 63 characters, got 64"):
        Job("j" * 64, 1)


ANY_TEXT = st.text(max_size=300)
HOSTS = st.one_of(
    st.ip_addresses().map(str),
    st.from_regex(r"[a-z0-9.-]{1,255}", fullmatch=True),
    ANY_TEXT,
)


@given(
    name=st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,70}", fullmatch=True),
    index=st.integers(0, 10**6),
    attempt=st.integers(1, 10**4),
    host=HOSTS,
    python=st.one_of(ANY_TEXT, st.from_regex(r"(/[a-z.]{1,80}){1,9}", fullmatch=True)),
    env=st.dictionaries(st.from_regex(r"[A-Z]{1,9}", fullmatch=True), ANY_TEXT),
    cmd=st.one_of(st.text(min_size=1), st.lists(st.text(), min_size=1)),
    image=st.one_of(st.none(), ANY_TEXT),
    owner=st.one_of(st.none(), st.integers(1, 2**22)),
)
def test_a_task_carries_at_most_3_kib_of_ours_whatever_the_user_gives(
    name, index, attempt, host, python, env, cmd, image, owner
):
    shown = f"[{host}]:65535" if ":" in host else f"{host}:65535"
    try:
        job = Job(name, 1, cmd=cmd)
        config = make_config(job, advertise=shown, python=python, env=env, image=image, master="m")
    except SpecError:
        assume(False)  # refused before the start: nothing is carried
    run = "tfmesos-0123abcd"
    place = join_address(*config.advertise)
    settings = stub_settings(run, place, f"{run}-{name}-{index}-{attempt}", owner)
    command = runner_command(config, config.jobs[0], settings, "0" * 64)
    assert len(json.dumps(command)) <= MAX_COMMAND == 3072
    assert len(settings.split(" ")) == 5, "a word too many: the stub would not understand it"
