"""A node of the cluster: a machine with a dockerd and a kubelet."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .api import Refused
from .build import run
from .machine import Machine, wait_until

if TYPE_CHECKING:
    from .cluster import Kubernetes

PAUSE = "local/pause:1"
SYS_RESOURCE = 24  # the capability that a negative oom_score_adj needs
# As few as a small machine has, and on a large one no more: tests count on it.
CPUS, MEMORY = 2, 4 * 2**30
SETTINGS = {
    "kind": "KubeletConfiguration",
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "authentication": {
        "anonymous": {"enabled": False},
        "webhook": {"enabled": False},
        "x509": {"clientCAFile": "/var/lib/kubelet/ca.crt"},
    },
    "authorization": {"mode": "AlwaysAllow"},
    "tlsCertFile": "/var/lib/kubelet/node.crt",
    "tlsPrivateKeyFile": "/var/lib/kubelet/node.key",
    "readOnlyPort": 0,
    "volumePluginDir": "/var/lib/kubelet/volumeplugins",  # default: below /usr
    "cgroupDriver": "cgroupfs",
    "cgroupsPerQOS": False,  # containers have their limits, pods have none of their own
    "enforceNodeAllocatable": [],
    "failSwapOn": False,
    "makeIPTablesUtilChains": False,
    "hairpinMode": "none",
    "evictionHard": {"memory.available": "100Mi"},  # not for a disk that is rather full
    "imageGCHighThresholdPercent": 100,
    "nodeLeaseDurationSeconds": 20,
    "nodeStatusUpdateFrequency": "4s",
}
# Kubernetes wants its pause containers to outlive others when memory is short; a root without
# CAP_SYS_RESOURCE cannot say so, and runc would refuse to start them.
RUNC = """#!{python} -IS
import json, os, sys
args = sys.argv[1:]
if "create" in args:
    path = os.path.join(args[args.index("--bundle") + 1], "config.json")
    with open(path) as file:
        config = json.load(file)
    if config["process"].get("oomScoreAdj", 0) < 0:
        config["process"]["oomScoreAdj"] = 0
        with open(path, "w") as file:
            json.dump(config, file)
os.execv("{runc}", ["runc", *args])
"""


@dataclass(frozen=True)
class NodeSpec:
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[str] = ()  # as in "dedicated=gpu:NoSchedule"


class Node(Machine):
    def __init__(self, spec: NodeSpec, number: int, cluster: Kubernetes) -> None:
        super().__init__(spec.name, cluster.directory / spec.name)
        self.spec, self.cluster = spec, cluster
        self.address, self.pods = cluster.host(1 + number), cluster.subnet(number)
        self.docker_host = f"unix://{self.directory}/run/docker.sock"
        names = (f"IP:{self.address}", f"DNS:{spec.name}")
        subject = f"/O=system:nodes/CN=system:node:{spec.name}"
        cluster.certificates.issue(spec.name, subject, *names)

    def connect(self) -> None:
        control = self.cluster.control
        ends = ("netns", self.pid, "type", "veth", "peer", self.name, "netns", control.pid)
        run("ip", "link", "add", "eth0", *ends)
        control.run("ip", "link", "set", self.name, "up", "master", "br0")
        self.run("ip", "addr", "add", f"{self.address}/24", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")
        self.run("ip", "route", "add", self.cluster.subnet(15), "via", self.cluster.host(1))
        for outside in (run, control.run):
            outside("ip", "route", "replace", self.pods, "via", self.address)

    def meet(self, other: Node) -> None:
        """Route the pods of *other*; between nodes only, the host forwards nothing."""
        self.run("ip", "route", "replace", other.pods, "via", other.address)

    def bring_up(self, pause: Path) -> None:
        self.wait_for_dockerd()
        self.import_image(PAUSE, pause, 'ENTRYPOINT ["/pause"]')
        self.cluster.wait_for_apiserver()
        self.start_kubelet()
        wait_until(self.is_ready, self.programs["kubelet"])

    def start_dockerd(self) -> None:
        config = {
            "bip": f"{self.pods[1]}/24",  # pods are on docker's own bridge: no CNI is needed
            "iptables": False,
            "ip6tables": False,
            "ip-masq": False,
            "userland-proxy": False,
            "exec-opts": ["native.cgroupdriver=cgroupfs"],
            "cgroup-parent": f"/{self.cluster.link}/{self.name}",
            **self._runtime(),
        }
        (self.directory / "lib" / "docker.json").write_text(json.dumps(config))
        self.start("dockerd", "dockerd", "--config-file=/var/lib/docker.json")

    def _runtime(self) -> dict[str, Any]:
        if capable(SYS_RESOURCE):
            return {}
        wrapper = self.directory / "lib" / "runc"
        wrapper.write_text(RUNC.format(python=sys.executable, runc=shutil.which("runc")))
        wrapper.chmod(0o755)
        runtimes = {"wrapped": {"path": "/var/lib/runc"}}
        return {"runtimes": runtimes, "default-runtime": "wrapped"}

    def wait_for_dockerd(self) -> None:
        asked = ["docker", "--host", self.docker_host, "version"]
        wait_until(
            lambda: subprocess.run(asked, capture_output=True).returncode == 0,
            self.programs["dockerd"],
        )

    def import_image(self, name: str, tar: Path, *changes: str) -> None:
        """A tar of a file system, under the name *name*."""
        options = [word for change in changes for word in ("--change", change)]
        run("docker", "--host", self.docker_host, "import", *options, tar, name)

    def start_kubelet(self) -> None:
        """Also anew, after it was killed."""
        self._write_settings(self.directory / "lib" / "kubelet")
        labels = ",".join(f"{key}={value}" for key, value in self.spec.labels.items())
        taints = ",".join(self.spec.taints)
        self.start(
            "kubelet",
            *(self.cluster.programs / "kubelet", "--config=/var/lib/kubelet/config.yaml"),
            *("--kubeconfig=/var/lib/kubelet/kubeconfig", "--container-runtime=docker"),
            *(f"--pod-infra-container-image={PAUSE}", f"--hostname-override={self.name}"),
            *(f"--node-ip={self.address}", f"--node-labels={labels}"),
            *([f"--register-with-taints={taints}"] if taints else []),
        )

    def _write_settings(self, home: Path) -> None:
        home.mkdir(exist_ok=True)
        issued = self.cluster.certificates
        shutil.copy(issued.file("ca"), home)
        shutil.copy(issued.file(self.name), home / "node.crt")
        shutil.copy(issued.key(self.name), home / "node.key")
        own = {"address": str(self.address), "systemReserved": beyond_a_small_machine()}
        own["oomScoreAdj"] = -999 if capable(SYS_RESOURCE) else 0
        (home / "config.yaml").write_text(json.dumps({**SETTINGS, **own}))
        kubeconfig = self.cluster.kubeconfig_of(self.name)
        (home / "kubeconfig").write_text(json.dumps(kubeconfig))

    def is_ready(self) -> bool:
        with suppress(Refused):  # before it has registered
            status = self.look()["status"]
            conditions = {it["type"]: it["status"] for it in status.get("conditions", [])}
            return conditions.get("Ready") == "True"
        return False

    def is_usable(self) -> bool:
        """Ready, and without the taint that every node begins with."""
        taints = [taint["key"] for taint in self.look()["spec"].get("taints", [])]
        unusable = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        return self.is_ready() and not set(unusable) & set(taints)

    def look(self) -> dict[str, Any]:
        return self.cluster.admin.get(f"/api/v1/nodes/{self.name}")


def beyond_a_small_machine() -> dict[str, str]:
    """What a kubelet has to leave aside, so that CPUS and MEMORY are left of this machine."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    aside = max(0, total - MEMORY - 100 * 2**20)  # evictionHard is left aside, too
    return {"cpu": str(max(0, (os.cpu_count() or 1) - CPUS)), "memory": str(aside)}


def capable(capability: int) -> bool:
    status = Path("/proc/self/status").read_text()
    effective = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective.split()[1], 16) >> capability & 1)
