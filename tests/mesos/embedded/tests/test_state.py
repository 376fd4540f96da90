"""Whatever happens, nothing is offered twice; and the state does no I/O."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tests.mesos.embedded

from .master_state import Bench
from .wire import task

ACTIONS = ("decline", "launch", "end", "acknowledge", "kill", "lose", "back", "wait", "revive")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 5)), max_size=40))
def test_nothing_is_ever_offered_or_used_twice(story):
    bench = Bench("cpus:4;mem:4096;ports:[1-9]", "cpus:2;mem:1024")
    bench.subscribe()
    for number, (action, pick) in enumerate(story):
        _do(bench, action, pick, number)
        for agent in bench.state.agents.values():
            assert agent.resources.covers(agent.used + agent.offered)
            scalars = [p.scalar("cpus") for p in (agent.used, agent.offered, agent.free)]
            assert sum(scalars) == pytest.approx(agent.resources.scalar("cpus"))


def _do(bench, action, pick, number):
    framework_ = bench.state.frameworks["M-0000"]
    agents = list(bench.state.agents.values())
    agent = agents[pick % len(agents)]
    offers = [offer for offer in agent.offers.values()][:1]
    running = list(agent.tasks.values())[:1]
    if action == "decline" and offers:
        bench.call("DECLINE", offer_ids=[{"value": offers[0].id}], filters={"refuse_seconds": pick})
    elif action == "launch" and offers:
        live = [{"id": {"value": offers[0].id}, "agent_id": {"value": agent.id}}]
        bench.run(task(f"t{number}", "true", cpus=0.5 * pick), offers=live)
    elif action == "end":
        for each in running:
            bench.end(each)
    elif action == "acknowledge":
        for each in list(framework_.tasks.values()):
            if each.pending:
                bench.acknowledge(each.pending[0])
    elif action == "kill":
        for each in running:
            bench.call("KILL", task_id={"value": each.id})
    elif action == "lose" and agent.reachable:
        bench.effects += bench.state.lose_agent(agent.id, bench.now)
    elif action == "back" and not agent.reachable:
        bench.effects += bench.state.recover_agent(agent.id, bench.now)
    elif action == "wait":
        bench.wait(pick)
    elif action == "revive":
        bench.call("REVIVE")


PURE = (
    *("allocator", "calls", "effects", "entities", "launches", "notifications", "resources"),
    *("state", "validation", "views"),
)


IO = "asyncio socket subprocess os time random threading logging h11".split()


@pytest.mark.parametrize("name", PURE)
def test_the_deciding_modules_do_no_io(name):
    source = Path(tests.mesos.embedded.__file__).with_name(f"{name}.py").read_text()
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or "").split(".")[0])
    assert not found & {*IO, ".agent", ".master", ".endpoints", ".cluster"}
