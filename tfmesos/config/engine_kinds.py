"""The table of engines: all that the rest of the package has to know about each.

Nothing outside of ``engines`` compares the name of an engine. Anything beyond these facts is in the
module ``plugin`` of its folder.
"""

from __future__ import annotations

from ..record import Record
from ..shared import link_timeouts

LOCAL, MESOS, KUBERNETES, SLURM = "local", "mesos", "kubernetes", "slurm"
KUBERNETES_SCHEME, SLURM_SCHEME = "k8s://", "slurm://"
OF_MESOS = (MESOS, LOCAL)  # settings of Mesos change nothing on this machine

# What Slurm, or the login node, sets for its own processes.
_OF_LOGIN_NODE = (
    *("SLURM", "SBATCH_", "SALLOC_", "SRUN_", "CUDA_VISIBLE_DEVICES", "HOSTNAME", "TMPDIR", "SSH_"),
    *("XDG_RUNTIME_DIR", "XDG_SESSION", "DISPLAY", "TMUX", "PWD", "OLDPWD"),
)


class EngineKind(Record):
    name: str  # also of its folder
    master: str  # how it is named with -m: a word, or a scheme; empty: in any other way
    words: str  # what that stands for
    reconnect_within: float  # seconds for which runner and launcher look for each other
    is_here: bool = False  # do the tasks share this machine with the launcher?
    survives: bool = False  # do its tasks outlive the launcher, so that another can continue?
    hides_boards: bool = False  # is a TensorBoard found through its link only?
    leaves_grace: bool = False  # has a task all of its stop grace, whoever ends it?
    gives_directory: bool = True  # has a task one of its own, from the engine?
    gpus_in_images: str = ""  # what provides them there; empty: it depends on the containerizer
    runs_pods: bool = False  # so that settings of pods have an effect
    holds_places: bool = False  # does it keep places while it waits for the others?
    limits_time: bool = False  # may a run have a time limit that is the engine's?
    inherits: bool = False  # do tasks inherit the environment? Else PATH and PYTHONPATH only
    kept_back: tuple[str, ...] = ()  # how variables begin that they do not inherit then
    preview: str = ""  # the form of --dry-run that shows what an engine is sent

    @property
    def title(self) -> str:
        return self.name.title()

    def is_named(self, master: str) -> bool:
        is_scheme = self.master.endswith("://")
        return master.startswith(self.master) if is_scheme else master == self.master


ENGINES = {
    kind.name: kind
    for kind in (
        EngineKind(
            LOCAL,
            "local",
            "this machine",
            link_timeouts.LOCAL_RECONNECT_TIMEOUT,
            is_here=True,
            gpus_in_images="Docker on this machine needs the NVIDIA Container Toolkit",
            inherits=True,
            preview="mesos",  # the same tasks, as one sees them there
        ),
        EngineKind(
            KUBERNETES,
            KUBERNETES_SCHEME,
            "a Kubernetes cluster, by its context",
            link_timeouts.API_SERVER_RECONNECT_TIMEOUT,
            survives=True,
            leaves_grace=True,
            gpus_in_images="its image lacks libraries, or its node the NVIDIA Container Toolkit",
            runs_pods=True,
            holds_places=True,
            preview="kubernetes",
        ),
        EngineKind(
            SLURM,
            SLURM_SCHEME,
            "Slurm, by its partition",
            link_timeouts.RECONNECT_TIMEOUT,
            survives=True,
            hides_boards=True,
            gives_directory=False,
            gpus_in_images="its image lacks libraries, or its node lacks those of NVIDIA",
            limits_time=True,
            inherits=True,
            kept_back=_OF_LOGIN_NODE,
        ),
        EngineKind(
            MESOS,
            "",
            "a Mesos master, by its address",
            link_timeouts.RECONNECT_TIMEOUT,
            survives=True,
            hides_boards=True,
            preview="mesos",
        ),
    )
}
PREVIEWS = tuple(dict.fromkeys(kind.preview for kind in ENGINES.values() if kind.preview))


def engine_at(master: str) -> EngineKind:
    """The engine that *master* names: anything that names no other engine is a Mesos address."""
    return next((kind for kind in ENGINES.values() if kind.is_named(master)), ENGINES[MESOS])
