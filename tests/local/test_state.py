"""The master without a socket, a process or a clock."""

from __future__ import annotations

import ast
import base64
from itertools import count
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfmesos.local
from tfmesos.local import Timing, resources
from tfmesos.local.effects import End, Kill, Launch, Send
from tfmesos.local.state import MasterState

from .wire import framework, grace, task

INFO = {"id": "M", "port": 5050, "address": {"hostname": "h", "ip": "127.0.0.1", "port": 5050}}


class Bench:
    """A master, and everything it wanted done so far."""

    def __init__(self, *agents: str, timing: Timing | None = None) -> None:
        numbers = count(1)
        self.now = 1000.0
        timing = timing or Timing(allocation_interval=0.0)
        self.state = MasterState(INFO, lambda: UUID(int=next(numbers)), timing)
        self.effects: list = []
        for number, text in enumerate(agents or ("cpus:4;mem:4096",)):
            _id, effects = self.state.add_agent(
                f"node-{number}", resources.parse(text), [], self.now
            )
            self.effects += effects

    def subscribe(self, info=None, stream="s", **fields):
        info = info or framework()
        call = {"type": "SUBSCRIBE", "subscribe": {"framework_info": info, **fields}}
        self.effects += self.state.subscribe(call, stream, None, self.now)

    def call(self, kind, framework_id="M-0000", **body):
        call = {"type": kind, kind.lower(): body} if body else {"type": kind}
        self.effects += self.state.handle(self.state.frameworks[framework_id], call, self.now)

    def launch(self, *tasks, offers=None, framework_id="M-0000", refuse=0.0):
        offers = offers or self.offers()[-1:]
        infos = [{**info, "agent_id": offers[0]["agent_id"]} for info in tasks]
        self.call(
            "ACCEPT",
            framework_id,
            offer_ids=[offer["id"] for offer in offers],
            operations=[{"type": "LAUNCH", "launch": {"task_infos": infos}}],
            filters={"refuse_seconds": refuse},
        )
        return [effect.task for effect in self.effects if isinstance(effect, Launch)][-len(tasks) :]

    def run(self, *tasks, **more):
        launched = self.launch(*tasks, **more)
        for each in launched:
            self.effects += self.state.task_started(each.container_id, 7, self.now)
        return launched

    def end(self, task, succeeded=True, message="Command exited with status 0"):
        self.effects += self.state.task_ended(task.container_id, succeeded, message, self.now)

    def acknowledge(self, status, framework_id="M-0000"):
        uuid = base64.b64decode(status["uuid"])
        body = {"task_id": status["task_id"], "agent_id": status["agent_id"], "uuid": uuid}
        self.call("ACKNOWLEDGE", framework_id, **body)

    def wait(self, seconds):
        """Let time pass, ticking whenever the state wants to be ticked."""
        end = self.now + seconds
        while (due := self.state.next_tick()) is not None and due <= end:
            self.now = max(self.now, due)
            self.effects += self.state.tick(self.now)
        self.now = end

    def events(self, kind, stream="s"):
        sent = [e for e in self.effects if isinstance(e, Send) and e.stream == stream]
        return [e.event for e in sent if e.event["type"] == kind]

    def offers(self, stream="s"):
        return [o for event in self.events("OFFERS", stream) for o in event["offers"]["offers"]]

    def updates(self, task_id=None, stream="s"):
        statuses = [event["update"]["status"] for event in self.events("UPDATE", stream)]
        return [s for s in statuses if task_id in (None, s["task_id"]["value"])]

    def states(self, task_id, stream="s"):
        return [status["state"] for status in self.updates(task_id, stream)]


def cpus(offer):
    return next(e["scalar"]["value"] for e in offer["resources"] if e["name"] == "cpus")


def test_a_heartbeat_follows_the_subscription_at_once_and_then_every_15_seconds():
    bench = Bench()
    bench.subscribe(framework("MULTI_ROLE", roles=[]))
    assert len(bench.events("HEARTBEAT")) == 1
    bench.wait(14.9)
    assert len(bench.events("HEARTBEAT")) == 1
    bench.wait(15.2)
    assert len(bench.events("HEARTBEAT")) == 3


def test_updates_leave_one_at_a_time():
    bench = Bench()
    bench.subscribe()
    (one,) = bench.run(task("t", "true"))
    bench.end(one)
    assert bench.states("t") == ["TASK_STARTING"]
    bench.acknowledge(bench.updates("t")[-1])
    assert bench.states("t") == ["TASK_STARTING", "TASK_RUNNING"]
    bench.acknowledge(bench.updates("t")[-1])
    assert bench.states("t") == ["TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"]


def test_an_unacknowledged_update_is_sent_again_after_10_and_20_more_seconds():
    bench = Bench()
    bench.subscribe()
    bench.run(task("t", "true"))
    sent = []
    for _second in range(71):
        sent.append(len(bench.updates("t")))
        bench.wait(1)
    assert [sent.index(number) for number in (1, 2, 3, 4)] == [0, 10, 30, 70]
    assert len({status["uuid"] for status in bench.updates("t")}) == 1


def test_a_repeated_or_foreign_acknowledgement_changes_nothing():
    bench = Bench()
    bench.subscribe()
    bench.run(task("t", "true"))
    first = bench.updates("t")[0]
    bench.acknowledge(first)
    bench.acknowledge(first)
    bench.acknowledge({**first, "uuid": base64.b64encode(bytes(16)).decode()})
    assert bench.states("t") == ["TASK_STARTING", "TASK_RUNNING"]


def test_a_task_killed_before_it_started_says_so():
    bench = Bench()
    bench.subscribe()
    (early,) = bench.launch(task("early", "true"))
    bench.call("KILL", task_id={"value": "early"})
    assert [e for e in bench.effects if isinstance(e, Kill)] == [Kill(early.container_id, 3.0)]
    bench.effects += bench.state.task_refused(
        early.container_id, "TASK_KILLED", "REASON_TASK_KILLED_DURING_LAUNCH", "early", bench.now
    )
    (status,) = bench.updates("early")
    assert status["state"] == "TASK_KILLED"
    assert "uuid" in status and "container_status" not in status


def test_the_grace_of_a_kill_is_the_one_of_the_task_not_of_the_call():
    bench = Bench()
    bench.subscribe()
    (one,) = bench.run(task("t", "true", **grace(5)))
    bench.call("KILL", task_id={"value": "t"}, **grace(1))
    assert bench.effects[-1] == Kill(one.container_id, 5.0)


def test_a_second_kill_does_nothing():
    bench = Bench()
    bench.subscribe()
    bench.run(task("t", "true"))
    bench.call("KILL", task_id={"value": "t"})
    bench.call("KILL", task_id={"value": "t"})
    assert len([e for e in bench.effects if isinstance(e, Kill)]) == 1


def test_a_declined_offer_comes_back_after_5_seconds():
    bench = Bench()
    bench.subscribe()
    bench.call("DECLINE", offer_ids=[bench.offers()[0]["id"]])
    bench.wait(4.9)
    assert len(bench.offers()) == 1
    bench.wait(0.2)
    assert len(bench.offers()) == 2


def test_what_is_refused_for_no_time_comes_back_after_the_allocation_interval():
    bench = Bench(timing=Timing(allocation_interval=0.1))
    bench.subscribe()
    bench.call("DECLINE", offer_ids=[bench.offers()[0]["id"]], filters={"refuse_seconds": 0})
    assert len(bench.offers()) == 1
    bench.wait(0.11)
    assert len(bench.offers()) == 2


def test_what_one_framework_declines_is_offered_to_the_other_at_once():
    bench = Bench()
    bench.subscribe(stream="one")
    bench.subscribe(stream="two")
    assert bench.offers("two") == []
    bench.call("DECLINE", offer_ids=[bench.offers("one")[0]["id"]])
    assert len(bench.offers("two")) == 1


def test_a_filter_does_not_hold_back_a_bigger_offer():
    bench = Bench()
    bench.subscribe()
    (one,) = bench.run(task("t", "true", cpus=1))
    bench.call("DECLINE", offer_ids=[bench.offers()[-1]["id"]], filters={"refuse_seconds": 3600})
    bench.end(one)
    assert [cpus(offer) for offer in bench.offers()] == [4.0, 3.0, 4.0]


def test_two_frameworks_share_two_agents():
    bench = Bench("cpus:4;mem:4096", "cpus:4;mem:4096")
    bench.subscribe(framework("MULTI_ROLE", roles=["*"]), stream="one", suppressed_roles=["*"])
    bench.subscribe(framework("MULTI_ROLE", roles=["*"]), stream="two", suppressed_roles=["*"])
    bench.state.frameworks["M-0000"].suppressed.clear()
    bench.call("REVIVE", "M-0001")
    assert (len(bench.offers("one")), len(bench.offers("two"))) == (1, 1)


def test_a_gpu_agent_is_hidden_from_those_who_cannot_use_gpus():
    bench = Bench("cpus:4;mem:4096;gpus:2", "cpus:4;mem:4096;gpus:{a,b}")
    bench.subscribe(framework("MULTI_ROLE"))
    assert [offer["hostname"] for offer in bench.offers()] == ["node-1"]


def test_what_a_torn_down_framework_held_is_free_when_its_processes_are_gone():
    bench = Bench()
    bench.subscribe(stream="one")
    (one,) = bench.run(task("t", "true", cpus=3), offers=bench.offers("one"))
    bench.call("TEARDOWN")
    assert End("one") in bench.effects
    bench.subscribe(stream="two")
    assert [cpus(offer) for offer in bench.offers("two")] == [1.0]
    bench.end(one)
    assert [cpus(offer) for offer in bench.offers("two")] == [1.0, 3.0]
    assert bench.states("t", "one") == ["TASK_STARTING"]


def test_a_framework_that_is_away_too_long_is_removed_and_its_id_burnt():
    bench = Bench()
    bench.subscribe(framework(failover_timeout=30.0))
    (one,) = bench.run(task("t", "true"))
    bench.effects += bench.state.disconnected("s", bench.now)
    bench.wait(29)
    assert bench.effects[-1] != Kill(one.container_id, 3.0)
    bench.wait(2)
    assert Kill(one.container_id, 3.0) in bench.effects
    bench.subscribe(framework(id={"value": "M-0000"}), stream="late")
    assert bench.events("ERROR", "late")[0]["error"]["message"] == "Framework has been removed"
    assert bench.effects[-1] == End("late")


def test_of_what_has_ended_it_keeps_no_environment_and_fifty_frameworks_only():
    bench = Bench()
    secret = {"variables": [{"name": "SECRET", "value": "s3cr3t"}]}
    for number in range(51):
        name = f"M-{number:04}"
        bench.subscribe(stream=name)
        bench.launch(
            task("t", {"value": "true", "environment": secret}),
            offers=bench.offers(name)[-1:],
            framework_id=name,
        )
        (one,) = bench.state.frameworks[name].all_tasks
        assert one.info["command"]["environment"] == secret
        bench.end(one)
        assert one.info["command"] == {"value": "true", "environment": {}}
        bench.call("TEARDOWN", name)
    assert list(bench.state.completed) == [f"M-{number:04}" for number in range(1, 51)]


def test_a_framework_that_is_back_in_time_gets_its_pending_updates_at_once():
    bench = Bench()
    bench.subscribe(framework(failover_timeout=30.0))
    (one,) = bench.run(task("t", "true"))
    bench.effects += bench.state.disconnected("s", bench.now)
    bench.end(one)
    bench.subscribe(framework(id={"value": "M-0000"}), stream="again")
    assert bench.states("t", "again") == ["TASK_STARTING"]


def test_a_second_subscriber_with_the_same_id_throws_the_first_out():
    bench = Bench()
    bench.subscribe()
    bench.subscribe(framework(id={"value": "M-0000"}), stream="new")
    assert bench.events("ERROR")[0]["error"]["message"] == "Framework failed over"
    assert End("s") in bench.effects
    bench.effects += bench.state.disconnected("s", bench.now)  # the old connection closes
    assert bench.state.frameworks["M-0000"].stream == "new"


def test_what_happened_on_a_lost_agent_is_told_when_it_is_back():
    bench = Bench()
    bench.subscribe()
    (one,) = bench.run(task("t", "true"))
    bench.effects += bench.state.lose_agent("M-S0", bench.now)
    bench.acknowledge(bench.updates("t")[0])  # does not reach the agent
    bench.end(one)
    assert bench.states("t") == ["TASK_STARTING", "TASK_UNREACHABLE"]
    bench.effects += bench.state.recover_agent("M-S0", bench.now)
    assert bench.states("t") == ["TASK_STARTING", "TASK_UNREACHABLE", "TASK_STARTING"]


def test_a_task_group_is_refused_in_words():
    bench = Bench()
    bench.subscribe()
    offer = bench.offers()[0]
    group = {"tasks": [{**task("t", "true"), "agent_id": offer["agent_id"]}]}
    operation = {"type": "LAUNCH_GROUP", "launch_group": {"task_group": group}}
    bench.call("ACCEPT", offer_ids=[offer["id"]], operations=[operation])
    (status,) = bench.updates("t")
    assert status["state"] == "TASK_ERROR"
    assert "does not launch task groups" in status["message"]


@pytest.mark.parametrize(
    "changes",
    [
        {"role": "ml"},
        {"reservations": [{"type": "STATIC", "role": "ml"}]},
        {"allocation_info": {"role": "ml"}},
    ],
)
def test_resources_of_another_role_do_not_fit_an_offer(changes):
    bench = Bench()
    bench.subscribe()
    entry = {"name": "cpus", "type": "SCALAR", "scalar": {"value": 1.0}, **changes}
    bench.call(
        "ACCEPT",
        offer_ids=[bench.offers()[0]["id"]],
        operations=[
            {
                "type": "LAUNCH",
                "launch": {
                    "task_infos": [
                        {
                            **task("t", "true"),
                            "resources": [entry],
                            "agent_id": {"value": "M-S0"},
                        }
                    ]
                },
            }
        ],
    )
    assert "is more than available" in bench.updates("t")[0]["message"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\nb", "x" * 256])
def test_an_id_that_is_no_name_of_a_directory_is_refused(name):
    bench = Bench()
    bench.subscribe()
    bench.launch(task(name, "true"))
    assert bench.states(name) == ["TASK_ERROR"]
    bench.subscribe(framework(id={"value": name}), stream="bad")
    assert len(bench.events("ERROR", "bad")) == 1


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
IO = "asyncio socket subprocess os time random threading logging aiohttp".split()


@pytest.mark.parametrize("name", PURE)
def test_the_deciding_modules_do_no_io(name):
    source = Path(tfmesos.local.__file__).with_name(f"{name}.py").read_text()
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or "").split(".")[0])
    assert not found & {*IO, ".agent", ".master", ".endpoints", ".cluster"}
