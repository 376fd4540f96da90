"""The state of a master, without any I/O."""

from __future__ import annotations

import base64
from itertools import count
from uuid import UUID

from tests.mesos.embedded import Timing, resources
from tests.mesos.embedded.effects import Launch, Send
from tests.mesos.embedded.state import MasterState

from .wire import framework

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
