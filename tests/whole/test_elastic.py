"""Runs that begin and go on with as many workers as there is room for, on an embedded Mesos."""

import asyncio
import json
import sys

from tests.commands import environment, tfrun
from tests.mesos.embedded.cluster import AgentConfig, LocalMesos

SAYS = "trap 'exit 0' TERM; echo $TFMESOS_GENERATION of $WORLD_SIZE; sleep 600 & wait"


def nodes(number):
    return [AgentConfig(f"node-{n}", "cpus:1;mem:2048") for n in range(number)]


async def lines_until(stream, *wanted):
    missing = list(wanted)
    while missing:
        line = (await stream.readline()).decode().strip()
        assert line, f"the output ended before {missing} came"
        missing = [one for one in missing if one != line]


async def a_generation_of(number, stream):
    """Whichever it is: on a busy machine offers may come too late for the first that grows."""
    there = []
    while len(there) < number:
        line = (await stream.readline()).decode()
        assert line, "the output ended before"
        there += [line] if line.endswith(f" of {number}\n") else []


def test_a_run_begins_with_what_there_is_loses_a_node_and_grows_when_others_join():
    asyncio.run(_five_nodes_for_eight_workers())


async def _five_nodes_for_eight_workers():
    async with LocalMesos(nodes(5)) as mesos:
        run = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tfmesos", "-m", mesos.url, "-w", "2:8"),
            *("--restart-policy", "all", "--grow-every", "1", "--", SAYS),
            env=environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        await lines_until(run.stdout, *(f"[worker:{n}] 0 of 5" for n in range(5)))
        mesos.kill_agent("node-0")
        await lines_until(run.stdout, *(f"[worker:{n}] 1 of 4" for n in range(4)))
        (found,) = json.loads((await asyncio.to_thread(tfrun, "list", "--json")).stdout)
        status = await asyncio.to_thread(tfrun, "status", "--json", found["id"])
        shapes = [one["shape"]["worker"] for one in json.loads(status.stdout)["generations"]]
        assert shapes == [5, 4]
        for number in range(5, 9):
            mesos.join(AgentConfig(f"node-{number}", "cpus:1;mem:2048"))
        await a_generation_of(8, run.stdout)
        run.terminate()
        said = (await run.stderr.read()).decode()
        assert await run.wait() == 143
    assert "5 of up to 8 worker tasks" in said and "4 of up to 8 worker tasks" in said


def test_a_wrong_range_is_refused_in_one_line():
    for given in ("8:2", "0:4", "x:2"):
        refused = tfrun("-w", given, "--", "true")
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1
        assert "-w/--nworker" in refused.stderr and "MIN:MAX" in refused.stderr
