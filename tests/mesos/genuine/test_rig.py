"""What the other tests here stand on."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.conftest import reap
from tfmesos.engines.mesos.task_reasons import REASONS

from . import build, conftest, egg
from .framework import Framework, a_task, play, until


def test_another_library_than_the_one_we_know_is_refused():
    with pytest.raises(SystemExit, match=r"has the sha256 [0-9a-f]{64}, expected 4940ebb"):
        egg.checked(b"something else")


def test_without_a_compiler_there_is_a_reason_and_a_way_out(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(build.platform, "machine", lambda: "x86_64")
    with pytest.raises(build.CannotRun, match=r"g\+\+ is missing: apt-get install g\+\+"):
        build.check_machine()


def test_on_another_machine_there_is_a_reason(monkeypatch):
    monkeypatch.setattr(build.platform, "machine", lambda: "aarch64")
    with pytest.raises(build.CannotRun, match="for Linux on x86_64 only"):
        build.check_machine()


@pytest.mark.parametrize("ci, outcome", [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_what_cannot_run_is_skipped_at_home_and_fails_on_ci(monkeypatch, ci, outcome):
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="no compiler"):
        conftest.unavailable("no compiler")


def test_every_process_of_the_cluster_can_be_seen_and_ends_with_it(rig, tmp_path):
    with conftest.Mesos(rig, tmp_path / "mesos") as mesos:
        master = mesos.start("node-1", "node-2")
        assert master.agents() == ["node-1", "node-2"]
        assert mesos.tasks() == []
    assert [host.process.returncode for host in mesos.hosts] == [-9, -9, -9]


# The executor: as strict as Mesos's own


def with_variables(command, **variables):
    listed = [{"name": name, "value": value} for name, value in variables.items()]
    return {"value": command, "environment": {"variables": listed}}


@pytest.mark.parametrize(
    "size, state, message",
    [
        (64_000, "TASK_FINISHED", "Command exited with status 0"),
        (66_000, "TASK_FAILED", "Command exited with status 7"),
    ],
)
def test_a_task_has_room_for_64_kb_of_variables(mesos, size, state, message):
    """Its launcher gets them twice in one string, and Linux allows 128 KiB for one."""

    async def scenario():
        async with Framework(mesos.master.address).subscribed() as framework:
            await framework.run(a_task(with_variables("true", LARGE="x" * size)))
            end = (await framework.statuses())[-1]
            assert (end["state"], end["message"]) == (state, message)

    mesos.start("node-1")
    play(scenario)


OF_A_TASK = {
    *("PATH", "LIBPROCESS_IP", "LIBPROCESS_PORT", "MESOS_AGENT_ENDPOINT", "MESOS_ALLOCATION_ROLE"),
    *("MESOS_CHECKPOINT", "MESOS_DIRECTORY", "MESOS_EXECUTOR_ID", "MESOS_FRAMEWORK_ID"),
    *("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD", "MESOS_HTTP_COMMAND_EXECUTOR", "MESOS_SANDBOX"),
    *("MESOS_RECOVERY_TIMEOUT", "MESOS_SLAVE_ID", "MESOS_SLAVE_PID"),
    "MESOS_SUBSCRIPTION_BACKOFF_MAX",
}


def test_a_task_has_the_variables_of_mesos_and_its_own_and_no_other(mesos, tmp_path):
    async def scenario():
        async with Framework(mesos.master.address).subscribed() as framework:
            script = f"tr '\\0' '\\n' < /proc/$$/environ > {tmp_path}/env"
            await framework.run(a_task(with_variables(script, MINE="1", PATH="/bin:/mine")))
            await framework.status("TASK_FINISHED")

    mesos.start("node-1")
    play(scenario)
    seen = dict(line.partition("=")[::2] for line in (tmp_path / "env").read_text().splitlines())
    assert set(seen) == OF_A_TASK | {"MINE"}
    assert (seen["MINE"], seen["PATH"]) == ("1", "/bin:/mine")


def test_a_kill_reaches_every_process_of_a_task_in_whatever_session(mesos, tmp_path):
    def that_tells(name):
        tell = f"trap 'touch {tmp_path}/{name}-ended; exit 0' TERM; touch {tmp_path}/{name}-ready"
        return f"{tell}; while :; do sleep 0.05; done"

    async def scenario():
        async with Framework(mesos.master.address).subscribed() as framework:
            inner = that_tells("inner").replace("'", "'\\''")
            await framework.run(a_task(f"setsid sh -c '{inner}' & {that_tells('outer')}"))
            for name in ("inner", "outer"):
                await until(f"{name} is ready", (tmp_path / f"{name}-ready").exists)
            await framework.client.kill("t")
            await framework.status("TASK_KILLED")
            await until("the inner one was told", (tmp_path / "inner-ended").exists)
            assert (tmp_path / "outer-ended").exists()

    mesos.start("node-1")
    play(scenario)


def test_the_executor_logs_into_the_sandbox_of_its_task(mesos, tmp_path):
    async def scenario():
        async with Framework(mesos.master.address).subscribed() as framework:
            await framework.run(a_task(f"pwd > {tmp_path}/sandbox; echo mine >&2; exit 42"))
            await framework.status("TASK_FAILED")

    mesos.start("node-1")
    play(scenario)
    sandbox = Path((tmp_path / "sandbox").read_text().strip())
    first, *_, last = (sandbox / "stderr").read_text().splitlines()
    assert re.fullmatch(r"I\d{4} [\d:.]{15} +\d+ exec\.cpp:164\] Version: 1\.11\.0", first)
    assert re.search(r" executor\.cpp:\d+\] Command exited with status 42 \(pid: \d+\)$", last)
    assert "\nmine\n" in (sandbox / "stderr").read_text()


def test_the_executor_leaves_after_the_end_whether_its_agent_knows_of_it_or_not(mesos, tmp_path):
    """So a task that ends while its agent is away has failed, whatever its exit code."""

    async def scenario():
        async with Framework(mesos.master.address).subscribed() as framework:
            wait = f"until [ -e {tmp_path}/go ]; do sleep 0.05; done"
            await framework.run(a_task(f"touch {tmp_path}/up; {wait}"))
            await framework.status("TASK_RUNNING")
            agent.kill()
            (tmp_path / "go").touch()
            await until("the executor has left", lambda: not mesos.executors())
            agent.start()
            statuses = asyncio.create_task(framework.statuses())
            await until("its agent knows", lambda: reap() or statuses.done())  # we are its init
            end = (await statuses)[-1]
            assert (end["state"], end["source"]) == ("TASK_FAILED", "SOURCE_AGENT")

    mesos.start("node-1")
    agent = mesos.hosts[-1]
    play(scenario)


def test_every_reason_that_this_mesos_knows_is_in_our_table(rig):
    """Its v1 API says AGENT where the old one says SLAVE; a letter may follow in the binary."""
    (library,) = rig.parent.glob(f"*/{egg.LIBRARY}")
    found = re.findall(rb"REASON_[A-Z_]{3,}", library.read_bytes())
    names = {name.decode() for name in found if b"SLAVE" not in name}
    assert {name for name in names if name[:-1] not in names} == set(REASONS)
