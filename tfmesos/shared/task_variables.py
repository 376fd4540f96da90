"""What a task learns about its cluster: placeholders, TF_CONFIG and its environment.

Nothing here does I/O. A cluster spec is ``{job: ["host:port", ...]}``.
"""

from __future__ import annotations

from . import stdlib
from .address import split_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Cluster = Mapping[str, Sequence[str]]
    Command = str | Sequence[str]


_CLOSING = {"{": "}", "<": ">"}
_MEMBERS = ("chief", "master", "worker", "ps")  # of the cluster in TF_CONFIG
_TYPES = (*_MEMBERS, "evaluator")
_RANKED = ("chief", "master", "worker")
_NO_STARTS: Mapping[str, int] = {}


def placeholders(cluster: Cluster, job: str, index: int) -> dict[str, str]:
    """The values of the placeholders in the command of one task."""
    hosts = {name + "_hosts": ",".join(addresses) for name, addresses in cluster.items()}
    values = {"ps_hosts": "", "worker_hosts": ""}
    values.update(hosts, job_name=job, task_index=str(index))
    return values


def by_index(cluster: Cluster, starts: Mapping[str, int]) -> dict[str, dict[int, str]]:
    """Job -> index -> address: a job need not begin with index 0."""
    return {
        job: {starts.get(job, 0) + i: address for i, address in enumerate(addresses)}
        for job, addresses in cluster.items()
    }


def substitute(text: str, values: Mapping[str, str]) -> str:
    """Fill ``{name}`` and ``<name>`` for every name in *values*; leave all else alone.

    ``str.format`` would choke on ``awk '{print $1}'`` and on JSON arguments.
    """
    longest = max(map(len, values), default=0)
    filled, done = [], 0
    for at, letter in enumerate(text):
        if at < done or letter not in _CLOSING:
            continue
        end = text.find(_CLOSING[letter], at, at + longest + 2)
        if end >= 0 and text[at + 1 : end] in values:
            filled += [text[done:at], values[text[at + 1 : end]]]
            done = end + 1
    return "".join([*filled, text[done:]])


def argv(command: Command, values: Mapping[str, str]) -> list[str]:
    """What to execute: a list as it is, a string by the shell, with the placeholders filled."""
    if isinstance(command, str):
        return ["/bin/sh", "-c", substitute(command, values)]
    return [substitute(argument, values) for argument in command]


def members(cluster: Mapping[str, Any]) -> dict[str, Any]:
    """What every task that trains knows; TensorFlow refuses jobs of other types.

    An evaluator is not a member of the cluster it evaluates: TensorFlow wants it only as `task`.
    """
    return {job: addresses for job, addresses in cluster.items() if job in _MEMBERS}


def tf_config(
    cluster: Cluster, job: str, index: int, is_whole: bool = True, always: bool = False
) -> str | None:
    """The TF_CONFIG of one task, or None for a run of a single task, unless it is *always* given.

    None, too, where not the whole cluster is ours: it has no way to leave out indices. And for a
    task that TensorFlow does not know, such as a tensorboard.
    """
    is_alone = sum(len(cluster.get(name, ())) for name in _TYPES) < 2
    if job not in _TYPES or not is_whole or (is_alone and not always):
        return None
    training = {name: list(hosts) for name, hosts in members(cluster).items()}
    return stdlib.dumps({"cluster": training, "task": {"type": job, "index": index}})


def ranks(cluster: Cluster, job: str, index: int) -> dict[str, str]:
    """What torch, JAX and Keras 3 want to know: the chief is process 0, then come the workers.

    Each is a node of its own, because it sees no GPUs but its own.
    """
    if job not in _RANKED:
        return {}
    addresses = [address for name in _RANKED for address in cluster.get(name, ())]
    before = sum(len(cluster.get(name, ())) for name in _RANKED[: _RANKED.index(job)])
    rank, size = str(before + index), str(len(addresses))
    host, port = split_address(addresses[0])
    return {
        "RANK": rank,
        "WORLD_SIZE": size,
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "NODE_RANK": rank,
        "GROUP_RANK": rank,
        "MASTER_ADDR": host,
        "MASTER_PORT": str(port),
        "JAX_COORDINATOR_ADDRESS": addresses[0],
        "JAX_NUM_PROCESSES": size,
        "JAX_PROCESS_ID": rank,
        "KERAS_DISTRIBUTION_JOB_ADDRESSES": ",".join(addresses),
        "KERAS_DISTRIBUTION_NUM_PROCESSES": size,
        "KERAS_DISTRIBUTION_PROCESS_ID": rank,
    }


def environment(
    cluster: Cluster,
    job: str,
    index: int,
    starts: Mapping[str, int] = _NO_STARTS,
    always: bool = False,
) -> dict[str, str]:
    """The variables every command of a run gets; *starts* as in `by_index`."""
    values = placeholders(cluster, job, index)
    host, port = split_address(by_index(cluster, starts)[job][index])
    variables = {
        "PYTHONUNBUFFERED": "1",
        "TFMESOS_PS_HOSTS": values["ps_hosts"],
        "TFMESOS_WORKER_HOSTS": values["worker_hosts"],
        "TFMESOS_JOB_NAME": job,
        "TFMESOS_TASK_INDEX": str(index),
        "TFMESOS_DISTRIBUTED": "1",
        "TFMESOS_HOST": host,
        "TFMESOS_PORT": str(port),
    }
    config = tf_config(cluster, job, index, not starts, always)
    if config is not None:
        variables["TF_CONFIG"] = config
    return variables if starts else {**variables, **ranks(cluster, job, index)}


def merged(*layers: Mapping[str, str | None]) -> dict[str, str]:
    """One environment of several, the later over the earlier; None removes a variable."""
    result: dict[str, str | None] = {}
    for layer in layers:
        result.update(layer)
    return {name: value for name, value in result.items() if value is not None}
