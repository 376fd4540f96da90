"""The operator endpoints: the state of the master as JSON, a small part of what Mesos shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tfmesos.json_types import Json

from .entities import TERMINAL, Agent, Framework, Task
from .resources import total
from .state import MasterState

NAMES = ("state", "slaves", "frameworks", "tasks")
VERSION: Json = {"version": "1.11.0", "git_tag": "1.11.0", "build_user": "tfmesos.local"}

Sandbox = Callable[[Task], Path]


def view(name: str, state: MasterState, sandbox: Sandbox) -> Json:
    if name == "slaves":
        return {"slaves": [_agent(agent) for agent in state.agents.values() if not agent.gone]}
    if name == "frameworks":
        return _frameworks(state, sandbox)
    if name == "tasks":
        everyone = (*state.frameworks.values(), *state.completed.values())
        return {"tasks": [_task(t, sandbox) for f in everyone for t in f.all_tasks]}
    return {
        **VERSION,
        "id": state.info["id"],
        "pid": state.info["pid"],
        "hostname": state.info["hostname"],
        "leader": state.info["pid"],
        "activated_slaves": float(sum(agent.reachable for agent in state.agents.values())),
        "unreachable_slaves": float(sum(not agent.reachable for agent in state.agents.values())),
        **view("slaves", state, sandbox),
        **_frameworks(state, sandbox),
    }


def _frameworks(state: MasterState, sandbox: Sandbox) -> Json:
    return {
        "frameworks": [_framework(f, sandbox) for f in state.frameworks.values()],
        "completed_frameworks": [_framework(f, sandbox) for f in state.completed.values()],
    }


def _agent(agent: Agent) -> Json:
    return {
        "id": agent.id,
        "hostname": agent.hostname,
        "port": agent.url["address"]["port"],
        "attributes": {a["name"]: _attribute(a) for a in agent.attributes},
        "registered_time": agent.registered,
        "resources": agent.resources.summary(),
        "used_resources": agent.used.summary(),
        "offered_resources": agent.offered.summary(),
        "active": agent.reachable,
        "version": VERSION["version"],
    }


def _attribute(attribute: Json) -> object:
    if attribute["type"] == "RANGES":
        pair = attribute["ranges"]["range"][0]
        return f"[{pair['begin']}-{pair['end']}]"
    return attribute[attribute["type"].lower()]["value"]


def _framework(framework: Framework, sandbox: Sandbox) -> Json:
    tasks = framework.all_tasks
    unreachable = [t for t in tasks if not t.agent.reachable and t.latest not in TERMINAL]
    ended = [t for t in tasks if t.latest in TERMINAL]
    running = [t for t in tasks if t not in unreachable and t not in ended]
    return {
        "id": framework.id,
        "name": framework.info["name"],
        "user": framework.info["user"],
        "capabilities": sorted(framework.capabilities),
        "roles": framework.roles,
        "active": framework.stream is not None,
        "connected": framework.stream is not None,
        "failover_timeout": framework.info.get("failover_timeout", 0.0),
        "checkpoint": framework.info.get("checkpoint", False),
        "registered_time": framework.registered,
        "unregistered_time": 0.0,
        "used_resources": total(t.resources for t in running).summary(),
        "tasks": [_task(t, sandbox) for t in running],
        "unreachable_tasks": [_task(t, sandbox) for t in unreachable],
        "completed_tasks": [_task(t, sandbox) for t in ended],
    }


def _task(task: Task, sandbox: Sandbox) -> Json:
    return {
        "id": task.id,
        "name": task.info["name"],
        "framework_id": task.framework.id,
        "executor_id": "",
        "slave_id": task.agent.id,
        "state": task.latest,
        "resources": task.resources.summary(),
        "role": task.role,
        "statuses": [_status(s) for s in task.history],
        "directory": str(sandbox(task)),
    }


def _status(status: Json) -> Json:
    return {key: status[key] for key in ("state", "timestamp", "container_status") if key in status}
