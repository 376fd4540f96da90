"""The last lines of a task that failed, fetched by a run from its agent."""

import asyncio
import sys

import pytest

from tests.bounds import HANG
from tests.commands import environment
from tests.engines.mesos.api.test_sandbox import AgentThatAnswers, window
from tests.fake_masters import MasterWhoseTasksFail
from tests.tls import server_context


@pytest.mark.parametrize("flags", [(), ("--principal", "me", "--secret-file", "{secret}")])
def test_a_run_on_masters_with_tls_shows_the_last_lines_of_an_agent_with_tls(
    tmp_path, certificate, flags
):
    """The credential is for the master, and for nobody else."""
    secret = tmp_path / "secret"
    secret.write_text("hush")

    async def main():
        tls = server_context(certificate)
        async with AgentThatAnswers(window(9), window(0, "no python\n"), tls=tls) as agent:
            port = int(agent.address.rpartition(":")[2])
            async with MasterWhoseTasksFail(port, tls=tls) as master:
                given = [flag.format(secret=secret) for flag in flags]
                where = ["-m", master.address, "--ca-file", str(certificate), "--restarts", "0"]
                run = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "tfmesos", *where, *given, "-w", "1", "--", "true"),
                    stdin=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.PIPE,
                    env=environment(),
                )
                said = (await asyncio.wait_for(run.communicate(), HANG))[1].decode()
                return run.returncode, said, agent, master

    code, said, agent, master = asyncio.run(main())
    assert code == 3, said
    assert "  its last lines:\n    no python\n" in said
    assert f"{agent.url}/files/browse?path=/frameworks/framework-1/executors/" in said
    assert [bool(it.header("Authorization")) for it in agent.requests] == [False, False]
    assert {bool(it.header("Authorization")) for it in master.requests} == {bool(flags)}
