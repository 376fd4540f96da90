"""Carries out what the Kubernetes engine decides: creates, deletes and watches pods."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from ...call_queue import CallQueue
from ...config.job import Task
from ...config.launch_config import LaunchConfig
from ...config.secret import Secret
from ...core.outcome import Ending
from ...errors import ResourcesError, TFMesosError
from ...json_types import Json
from ...text import count
from ..api import Context
from . import actions as do
from . import events as happened
from . import objects
from .actions import CreatePods, KubernetesAction, NewPod
from .api.client import Client
from .api.error import ApiError
from .cluster_questions import ClusterQuestions
from .events import KubernetesEvent
from .explain import too_large
from .node_room import node_room
from .objects import Owner
from .permissions.pod_security import explained
from .permissions.review import check_rights
from .pod_ports import LocalPorts
from .pod_status import PodSeen
from .pod_watch import PodWatch
from .pods.groups import PodGroup
from .pods.resources import demands_cpu_limit, with_cpu_limit
from .preemptions import Preemptions
from .quota import is_hopeless
from .retries import NEVER, Retries
from .takeover.batch import Batch
from .takeover.ownership import Ownership
from .takeover.past_pods import Bodies, PastPods
from .to_runners import ToRunners

log = logging.getLogger(__name__)

SECRETS = 2000  # tasks whose secrets are in one Secret, which may have 1 MiB
LOG = 16 * 1024  # bytes of the log of a task that could not report
TAIL = 20  # lines of it
LEAVE_AT_LEAST = 2.0  # seconds: what is not deleted by then stays for ten minutes
FEW = 100  # pods
RETRY_FOR = 60.0  # seconds for a server that does not answer a request


class Links(Protocol):
    """Who connects to the runners; nobody if they connect to us."""

    def begin(self, task_id: str) -> None: ...
    def end(self, task_id: str) -> None: ...


class KubernetesDriver:
    """*expect* gives what the stub of a task receives, and its secret; *stub* is its text."""

    def __init__(
        self,
        context: Context,
        client: Client,
        emit: Callable[[KubernetesEvent], None],
        expect: Callable[[str, Task, int | None], tuple[str, Secret]],
        *,
        stub: str,
        links: Links | None,
        give_up_after: float,
        ownership: Ownership | None = None,
    ) -> None:
        self._config = context.config
        self._say = context.say
        self._client = client
        self._emit = emit
        self._expect = expect
        self._stub = stub
        self._links = links
        self._give_up_after = give_up_after
        how = objects.DIAL if links is None else objects.PORT_FORWARD
        self._ownership = ownership or Ownership(client, context, how)
        self._owner = self._ownership.owner  # that of an earlier launcher
        self._task_of: dict[str, str] = {}  # pod -> task id
        self._pod_of: dict[str, str] = {}  # task id -> its last pod
        self._unwanted: set[str] = set()  # pods to be deleted
        self._is_begun = asyncio.Event()  # is it certain whether there is an owner?
        self._trouble = ""  # why the owner is not deleted yet
        self._number = 0  # of the secrets made so far
        self._group_of_pods: PodGroup | None = None  # the last one, if there is a queue
        self._limits_cpu = False  # does the namespace require it?
        self._users: dict[str, set[str]] = {}  # Secret -> the pods that may still read it
        self._past = PastPods()
        self._calls = CallQueue()
        self._retries = Retries()
        self._ports = LocalPorts(self._dial_port, context.say, context.keys)
        self._to_runners = ToRunners(client, emit)
        self._cluster = ClusterQuestions(client, emit)
        self._preemptions = Preemptions(client, emit)
        self._group: asyncio.TaskGroup  # once the server is found
        self._early: list[KubernetesAction] | None = []  # actions before that

    async def look(self, config: LaunchConfig) -> None:
        """Only a task that is larger than every node is sure not to fit."""
        try:
            listed, _ = await self._client.list("nodes")
        except TFMesosError:
            return  # nobody knows
        rooms = [node_room(node, config.pods.gpu_resource) for node in listed]
        for task in (job.tasks[0] for job in config.jobs if job.size):
            if problem := too_large(task, rooms):
                raise ResourcesError(f"the run cannot be placed: {problem}")

    def change(self, config: LaunchConfig) -> None:
        """The next generation begins: what is launched from now on is launched so."""
        self._config = config

    async def run(self) -> None:
        """Create the owner, then watch the pods and carry out decisions, until cancelled."""
        try:
            version = await self._begin()
            assert self._owner is not None
        except TFMesosError as error:
            self._emit(happened.ServerGaveUp(error))
            return
        finally:
            self._is_begun.set()
        try:
            async with asyncio.TaskGroup() as self._group:
                self._group.create_task(self._ownership.keep(self._owner))
                self._group.create_task(self._calls.run())
                self._group.create_task(self._watch(self._owner, version))
                self._go_on()
        finally:
            self._calls.drop()

    def _go_on(self) -> None:
        """Do what was decided before and may not have been done."""
        if not self._past.is_connected:
            self._emit(happened.Connected(self._client.server, self._client.namespace))
        for action in self._past.to_delete():
            self._calls.add(partial(self._remove, action.names, action.grace))
        for pods, bodies in self._past.to_make():
            self._calls.add(partial(self._create_all, pods, *bodies, is_again=True))
        for pod in self._task_of.keys() - self._unwanted:
            if self._ports.known(pod):
                self._ports.open(pod, self._group)
        early = self._early or []
        self._early = None
        for overdue in early:
            self.carry_out(overdue)

    async def _begin(self) -> str | None:
        """The version from which the pods are watched; the server may not be there yet."""
        said = ""

        def tell(error: TFMesosError) -> None:
            nonlocal said
            if str(error) != said:
                said = str(error)
                self._emit(happened.ServerSought(f"{said}; trying again"))

        return await self._retries.ask(self._prepare_run, self._give_up_after, tell)

    async def _prepare_run(self) -> str | None:
        dials = self._links is not None
        self._retries.is_reviewed = await check_rights(self._client, dials)
        if self._owner is not None:
            return None  # there may be pods already
        _, version = await self._client.list("pods", f"{objects.RUN}=none")
        self._owner = await self._ownership.create()
        return version

    async def _watch(self, owner: Owner, version: str | None) -> None:
        try:
            await PodWatch(self._client, owner, self._watched, self._saw).run(version)
        except TFMesosError as error:
            self._emit(happened.ServerGaveUp(error))

    def _watched(self, event: KubernetesEvent) -> None:
        if isinstance(event, happened.Reconnected):
            self._retries.came_back(asyncio.get_running_loop().time())
        self._emit(event)

    def _saw(self, pod: PodSeen, is_gone: bool) -> None:
        """Connects to a runner as soon as its container runs."""
        task_id, is_unwanted = self._task_of.get(pod.name), pod.name in self._unwanted
        self._ask_why(pod, is_unwanted)
        if is_gone:
            self._drop(pod.name)
        if self._links is None or task_id is None or is_unwanted:
            return
        if is_gone or pod.has_ended:
            self._links.end(task_id)
        elif pod.is_running and not pod.is_deleting:
            self._links.begin(task_id)

    def _ask_why(self, pod: PodSeen, is_unwanted: bool) -> None:
        """Somebody else deleted the pod, and the server does not say who: events may."""
        if pod.is_deleting and not (is_unwanted or pod.disruption or pod.has_ended):
            assert self._owner is not None
            self._preemptions.ask(objects.pod_name(self._owner, pod.name), pod.name, self._group)

    def _drop(self, pod: str) -> None:
        """A pod of that name no longer exists."""
        self._task_of.pop(pod, None)
        self._ports.close(pod)
        self._unwanted.discard(pod)

    async def dial(self, task_id: str) -> socket.socket:
        """A connection to the runner of a task."""
        assert self._owner is not None
        name = objects.pod_name(self._owner, self._pod_of[task_id])
        return await self._to_runners.dial(name)

    async def _dial_port(self, pod: str, port: int) -> socket.socket:
        assert self._owner is not None
        name = objects.pod_name(self._owner, pod)
        return await self._client.dial(name, port, speaks_first=False)

    # What the engine wants done

    def recall(self, event: Any, actions: Sequence[Any]) -> None:
        """Expect the runners again; what was to be made or deleted is, unless it has been."""
        self._past.happened(event)
        if isinstance(event, happened.PodGone):
            self._drop(event.name)
        for action in actions:
            match action:
                case do.CreatePods(pods):
                    ports = {pod.name: self._ports.known(pod.name) for pod in pods}
                    self._past.made(pods, partial(self._bodies_of, self._prepare(action, ports)))
                case do.DeletePods(names):
                    self._past.deleted(action)
                    self._forget(names)
                    for users in self._users.values():
                        users.difference_update(names)

    def carry_out(self, action: KubernetesAction) -> None:
        if self._early is not None:  # after a take-over, what is overdue is asked for at once
            self._early.append(action)
            return
        gpu = self._config.pods.gpu_resource
        match action:
            case do.CreatePods(pods):
                self._say(f"creating {count(len(pods), 'pod')}", "info")
                ports = {pod.name: self._local_port(pod) for pod in pods}
                bodies = self._bodies_of(self._prepare(action, ports), pods)
                self._calls.add(lambda: self._create_all(pods, *bodies))
            case do.DeletePods(names, grace):
                self._forget(names)
                self._calls.add(lambda: self._remove(names, grace))
            case do.CountNodes():
                self._group.create_task(self._cluster.count_nodes(gpu))
            case do.CountRoom():
                self._group.create_task(self._cluster.count_room(gpu, self._owner))
            case do.AskQueue():
                self._group.create_task(self._cluster.ask_queue(self._group_of_pods))

    def _forget(self, names: Sequence[str]) -> None:
        """Nobody connects to these any more."""
        self._unwanted.update(names)
        for name in names:
            self._ports.close(name)
            if self._links and (task_id := self._task_of.get(name)):
                self._links.end(task_id)

    def _prepare(self, action: CreatePods, ports: Mapping[str, int | None]) -> list[Batch]:
        """Their runners are expected from now on."""
        assert self._owner is not None
        pods, queue = action.pods, self._config.pods.queue
        self._group_of_pods = PodGroup.of(queue, self._owner.name, action.round, len(pods))
        batches = []
        for at in range(0, len(pods), SECRETS):
            some = pods[at : at + SECRETS]
            self._number += 1
            name = objects.pod_name(self._owner, f"secret-{self._number}")
            told = {pod.name: self._expect(pod.task_id, pod.task, ports[pod.name]) for pod in some}
            self._users[name] = set(told)
            for pod in some:
                self._task_of[pod.name], self._pod_of[pod.task_id] = pod.task_id, pod.name
            local = frozenset(pod.name for pod in some if ports[pod.name] is not None)
            group = self._group_of_pods
            batches.append(Batch(name, told, local, self._config, action.avoid, group))
        return batches

    def _bodies_of(self, batches: Sequence[Batch], pods: Sequence[NewPod]) -> Bodies:
        """The Secrets and the pods."""
        assert self._owner is not None
        secrets, bodies = [], []
        for batch in batches:
            secrets.append(batch.secret_object(self._owner, self._stub))
            bodies += [batch.pod(self._owner, pod) for pod in pods if pod.name in batch.told]
        return secrets, [with_cpu_limit(it) for it in bodies] if self._limits_cpu else bodies

    def _local_port(self, pod: NewPod) -> int | None:
        """Where a browser finds the task if it cannot reach the pod."""
        is_private = pod.task.is_private and not self._config.tensorboard_public
        if self._links is None or not is_private:
            return None
        return self._ports.open(pod.name, self._group)

    async def _create_all(
        self,
        pods: Sequence[NewPod],
        secrets: Sequence[Json],
        bodies: Sequence[Json],
        is_again: bool = False,
    ) -> None:
        error = await self._created(secrets, bodies, is_again)
        if error and demands_cpu_limit(str(error)) and not self._limits_cpu:
            self._limits_cpu = True
            self._say(
                "the namespace requires CPU limits: each task is limited to its request", "info"
            )
            bodies = [with_cpu_limit(it) for it in bodies]
            error = await self._created((), bodies, is_again=True)
        if error:
            is_quota = isinstance(error, ApiError) and error.is_quota
            may_come = is_quota and not is_hopeless(str(error), bodies)
            error = explained(error, self._config, self._client.namespace)
            self._emit(happened.PodsRefused(error, may_come))

    async def _created(
        self, secrets: Sequence[Json], bodies: Sequence[Json], is_again: bool = False
    ) -> TFMesosError | None:
        """Why they were not created, if they were not; *is_again*: some may exist already."""
        try:
            async with asyncio.TaskGroup() as group:
                for secret in secrets:
                    group.create_task(self._create("secrets", secret, is_again))
            async with asyncio.TaskGroup() as group:
                for body in bodies:
                    group.create_task(self._create("pods", body, is_again))
        except* TFMesosError as refused:
            error = refused.exceptions[0]
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            assert isinstance(error, TFMesosError)
            found = error
        else:
            return None
        return found

    async def _create(self, kind: str, body: Json, is_again: bool = False) -> None:
        """It may exist although the answer was lost; the next attempt finds it then."""

        async def create() -> None:
            nonlocal is_again
            try:
                await self._client.create(kind, body)
            except ApiError as error:
                if not (is_again and error.reason == "AlreadyExists"):
                    raise
            finally:
                is_again = True

        await self._retries.ask(create, RETRY_FOR)

    async def _remove(self, names: Sequence[str], grace: float | None) -> None:
        """Also removes Secrets that nobody reads any more: a quota may count them."""
        await self._delete_all(names, grace)
        for users in self._users.values():
            users.difference_update(names)
        for secret in [name for name, users in self._users.items() if not users]:
            del self._users[secret]
            await self._delete("secrets", secret)

    async def _delete_all(self, names: Sequence[str], grace: float | None) -> None:
        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(self._delete_pod(name, None if grace is None else round(grace)))

    async def _delete_pod(self, name: str, grace: int | None) -> None:
        assert self._owner is not None
        if not await self._delete("pods", objects.pod_name(self._owner, name), grace):
            self._drop(name)

    async def _delete(self, kind: str, name: str, grace: int | None = None) -> bool:
        """False if it did not exist."""
        try:
            delete = partial(self._client.delete, kind, name, grace)
            return await self._retries.ask(delete, RETRY_FOR)
        except TFMesosError as error:
            log.debug("%s %s was not deleted: %s", kind, name, error)
            return True

    # What tasks left behind

    async def explain(self, ending: Ending) -> Ending:
        """*ending* with the last lines of its container, if its runner could not report them."""
        name = self._pod_of.get(ending.task_id)
        if ending.is_reported or name is None or self._owner is None:
            return ending
        try:
            text = await self._client.log(objects.pod_name(self._owner, name), LOG)
        except TFMesosError as error:
            log.debug("cannot read the log of %s: %s", name, error)
            return ending
        lines = [line for line in text.splitlines() if line.strip()]
        return ending.replace(tail=ending.tail or tuple(lines[-TAIL:]))

    async def read(self, task_id: str, file: str) -> str:
        """A container that has ended shows no files."""
        return ""

    async def leave(self, within: float) -> None:
        """Delete everything of the run; its tasks have ended, or nobody waits for them."""
        try:
            async with asyncio.timeout(max(within, LEAVE_AT_LEAST)):
                await self._is_begun.wait()
                if self._owner is not None and await self._ownership.is_held(self._owner):
                    await self._leave(self._owner)
        except (TimeoutError, TFMesosError) as error:
            if self._owner is not None:
                reason = str(error) or self._trouble or "the API server does not answer"
                way_out = f"kubectl delete configmap {self._owner.name}"
                text = f"parts of the run may remain: {reason}"
                self._say(f"{text}; {way_out} -n {self._client.namespace}", "warning")

    async def _leave(self, owner: Owner) -> None:
        """The server deletes what belongs to the owner; a few pods we can delete sooner."""

        def keep(error: TFMesosError) -> None:
            self._trouble = str(error)

        self._ownership.leave(owner)
        delete = partial(self._client.delete, "configmaps", owner.name)
        await self._retries.ask(delete, NEVER, keep)
        await self._calls.all_made()
        left = list(self._task_of)
        if len(left) <= FEW:
            await self._delete_all(left, None)
