"""The kinds of engines, and what a launcher has to know of each: the one table of them."""

from __future__ import annotations

from ..config.failure_settings import DEFAULT_SURVIVAL
from ..config.job import Task
from ..config.launch_config import LaunchConfig
from ..errors import SpecError
from ..record import Record
from ..shared import link_timeouts

LOCAL, MESOS, KUBERNETES, SLURM = "local", "mesos", "kubernetes", "slurm"


class Kind(Record):
    name: str
    reconnect_within: float  # seconds that runner and launcher look for each other
    is_here: bool = False  # do the tasks share this machine with the launcher?
    survives: bool = False  # do its tasks outlive the launcher, so that another can go on?
    hides_boards: bool = False  # is a TensorBoard found through its link only?
    leaves_grace: bool = False  # has a task all of its stop grace, whoever ends it?
    gives_directory: bool = True  # has a task one of its own, from the engine?
    gpus_in_images: str = ""  # what brings them there; empty: it depends on the containerizer


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            LOCAL,
            link_timeouts.LOCAL_RECONNECT_TIMEOUT,
            is_here=True,
            gpus_in_images="Docker on this machine needs the NVIDIA Container Toolkit",
        ),
        Kind(MESOS, link_timeouts.RECONNECT_TIMEOUT, survives=True, hides_boards=True),
        Kind(
            KUBERNETES,
            link_timeouts.API_SERVER_RECONNECT_TIMEOUT,
            survives=True,
            leaves_grace=True,
            gpus_in_images="its image lacks libraries, or its node the NVIDIA Container Toolkit",
        ),
        Kind(
            SLURM,
            link_timeouts.RECONNECT_TIMEOUT,
            survives=True,
            hides_boards=True,
            gives_directory=False,
            gpus_in_images="its image lacks libraries, or its node the hook of enroot for NVIDIA",
        ),
    )
}


def survival(config: LaunchConfig, *, can_be_followed: bool = True) -> float:
    """Seconds that the tasks of a run wait for another launcher; 0: they end with this one.

    By default they wait if it *can_be_followed* by one. SpecError if they cannot.
    """
    survives = kind_of(config).survives and not config.slurm.allocation
    if config.survive is not None and (survives or not config.survive):
        return config.survive
    if config.survive and config.slurm.allocation:
        within = f"Slurm job {config.slurm.allocation}, in which tfmesos runs"
        raise SpecError(None, "survive", f"is not supported: the tasks end with {within}")
    if config.survive:
        raise SpecError(None, "survive", f"is not supported on {kind_of(config).name.title()} yet")
    has_successor = survives and config.record and not config.local_chief
    return DEFAULT_SURVIVAL if has_successor and can_be_followed else 0.0


def is_private(config: LaunchConfig, task: Task) -> bool:
    """Does this task listen at the loopback of its node, where its runner leads us to it?"""
    return kind_of(config).hides_boards and task.is_private and not config.tensorboard_public


def kind_of(config: LaunchConfig) -> Kind:
    """The engine of a run: its master tells."""
    if config.is_local:
        return KINDS[LOCAL]
    if config.is_slurm:
        return KINDS[SLURM]
    return KINDS[KUBERNETES if config.is_kubernetes else MESOS]
