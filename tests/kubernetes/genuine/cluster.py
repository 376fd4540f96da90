"""A genuine Kubernetes on this one machine: real nodes, real pods, nothing left behind.

Each machine of the cluster, the one with the control plane too, is a set of namespaces. Should the
test be killed, they go with it; only a temporary directory and empty cgroups stay.
"""

from __future__ import annotations

import io
import ipaddress
import json
import os
import random
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .api import Api, Refused
from .build import CannotRun, run
from .certificates import Certificates, encoded
from .machine import Machine, remove_cgroups, wait_until
from .node import Node, NodeSpec

BLOCKS = list(ipaddress.ip_network("198.18.0.0/15").subnets(new_prefix=20))  # RFC 2544: for tests
NEEDED = (
    *(("dockerd", "docker.io"), ("docker", "docker.io"), ("runc", "runc"), ("ip", "iproute2")),
    *(("socat", "socat"), ("openssl", "openssl"), ("nsenter", "util-linux")),  # socat: port-forward
)
CONTROLLER = (
    "--use-service-account-credentials=true",
    # A node is lost after 20 s (default: 40), looked for each second (5), all at once (0.1 a s).
    *("--node-monitor-grace-period=20s", "--node-monitor-period=1s", "--node-eviction-rate=10"),
)
GIVEN_UP = (  # pods of a lost node (default: after 300 s)
    "--default-not-ready-toleration-seconds=5",
    "--default-unreachable-toleration-seconds=5",
)


def check_machine() -> None:
    if os.geteuid() != 0:
        raise CannotRun("nodes need root")
    for program, package in NEEDED:
        if shutil.which(program) is None:
            raise CannotRun(f"{program} is missing: apt-get install {package}")


class Kubernetes:
    """Everything is below *directory*, and gone after stop().

    start() has to be called in a thread that outlives the cluster; see ``--pdeathsig``.
    """

    def __init__(
        self, programs: Path, directory: Path, nodes: Sequence[NodeSpec], images: Mapping[str, Path]
    ) -> None:
        self.programs, self.directory, self.images = programs, directory, images
        self.specs = nodes
        self.nodes: list[Node] = []
        self.control: Machine = None  # type: ignore[assignment]  # until start()
        self.link = ""

    def __enter__(self) -> Kubernetes:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        check_machine()
        self.directory.mkdir(exist_ok=True)
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        self.control = Machine("control", self.directory / "control")
        self._make_network()
        self._make_certificates()
        self.control.start("etcd", self.programs / "etcd", "--data-dir=/var/lib/etcd")
        self.launch_apiserver()
        self._serve_inside()
        self.kubeconfig = self.directory / "kubeconfig"
        self.kubeconfig.write_text(json.dumps(self.kubeconfig_of("admin")))
        self.admin = Api(self.kubeconfig, "admin")
        self.pause = self._pause_image()
        for spec in self.specs:
            self._add_node(spec)
        with ThreadPoolExecutor() as pool:
            nodes = [pool.submit(node.bring_up, self.pause) for node in self.nodes]
            images = [pool.submit(self._import_images, node) for node in self.nodes]
            self.wait_for_apiserver()
            self._start_controller("kube-scheduler")
            for job in nodes:
                job.result()
            self._start_controller_manager()
            for job in images:
                job.result()
        self.wait_for_nodes()

    def stop(self) -> None:
        for machine in [*self.nodes, *([self.control] if self.control else [])]:
            machine.kill()
        self.nodes, self.control = [], None  # type: ignore[assignment]
        if self.link:
            with suppress(CannotRun):  # it goes with the control machine, but not at once
                run("ip", "link", "delete", self.link)
            remove_cgroups(self.link)
        shutil.rmtree(self.directory)

    # The nodes

    def _add_node(self, spec: NodeSpec) -> Node:
        self.nodes.append(node := Node(spec, len(self.nodes) + 1, self))
        node.connect()
        for other in self.nodes[:-1]:
            if other.is_alive:
                node.meet(other)
                other.meet(node)
        node.start_dockerd()
        return node

    def _import_images(self, node: Node) -> None:
        node.wait_for_dockerd()
        for name, tar in self.images.items():
            node.import_image(name, tar)

    def node(self, name: str) -> Node:
        return next(node for node in self.nodes if node.name == name)

    def wait_for_nodes(self) -> None:
        """Those that no test has killed."""
        manager = self.control.programs["kube-controller-manager"]
        for node in filter(lambda node: node.is_alive, self.nodes):
            wait_until(node.is_usable, manager)

    @contextmanager
    def spare_node(self, spec: NodeSpec) -> Iterator[Node]:
        """Another node, which the block may kill."""
        with self.spare_nodes(spec) as (node,):
            yield node

    @contextmanager
    def spare_nodes(self, *specs: NodeSpec) -> Iterator[list[Node]]:
        nodes = [self._add_node(spec) for spec in specs]
        try:
            with ThreadPoolExecutor() as pool:
                list(pool.map(self._make_usable, nodes))
            self.wait_for_nodes()
            yield nodes
        finally:
            for node in nodes:
                node.kill()
                self.nodes.remove(node)
                self.admin.delete(f"/api/v1/nodes/{node.name}")
                shutil.rmtree(node.directory)

    def _make_usable(self, node: Node) -> None:
        node.bring_up(self.pause)
        self._import_images(node)

    # The network

    def host(self, number: int) -> ipaddress.IPv4Address:
        """1 is the control plane, 2 and on are the nodes, 254 is this machine outside of them."""
        return self.block[number]

    def subnet(self, number: int) -> ipaddress.IPv4Network:
        """1 and on are those of the nodes' pods, 15 is that of the services."""
        return list(self.block.subnets(new_prefix=24))[number]

    @property
    def service(self) -> ipaddress.IPv4Address:
        """Where pods find the API server."""
        return self.subnet(15)[1]

    def _make_network(self) -> None:
        """A switch in the control machine; the host has one cable to it.

        Were the switch in the host, its firewall would rule over what the nodes say to each other.
        """
        self.block, self.link = self._free_block()
        # A bridge takes the lowest of its ports' addresses, and another one when that port goes.
        fixed = ("address", "02:00:00:00:00:01")
        self.control.run("ip", "link", "add", "br0", *fixed, "type", "bridge")
        self.control.run("ip", "link", "set", "host", "up", "master", "br0")
        self.control.run("ip", "addr", "add", f"{self.host(1)}/24", "dev", "br0")
        self.control.run("ip", "addr", "add", f"{self.service}/32", "dev", "br0")
        self.control.run("ip", "link", "set", "br0", "up")
        run("ip", "addr", "add", f"{self.host(254)}/24", "dev", self.link)
        run("ip", "link", "set", self.link, "up")

    def _free_block(self) -> tuple[ipaddress.IPv4Network, str]:
        """The name of the cable's end makes the choice atomic."""
        peer = ("type", "veth", "peer", "host", "netns", self.control.pid)
        for number in random.sample(range(len(BLOCKS)), len(BLOCKS)):
            with suppress(CannotRun):
                run("ip", "link", "add", f"k8s{number}", *peer)
                return BLOCKS[number], f"k8s{number}"
        raise CannotRun("no free block of addresses is left in 198.18.0.0/15")

    # The control plane

    def _make_certificates(self) -> None:
        self.certificates = Certificates(self.directory / "certificates")
        addresses = (self.host(1), self.service, "127.0.0.1")
        names = (*(f"IP:{address}" for address in addresses), "DNS:kubernetes")
        self.certificates.issue("apiserver", "/CN=kube-apiserver", *names)
        self.certificates.issue("admin", "/O=system:masters/CN=admin")
        for name in ("kube-controller-manager", "kube-scheduler"):
            self.certificates.issue(name, f"/CN=system:{name}")

    def kubeconfig_of(self, user: str, namespace: str = "default", **token: str) -> dict[str, Any]:
        """Self-contained, in JSON, which is YAML too."""
        cluster = {
            "server": f"https://{self.host(1)}:6443",
            "certificate-authority-data": encoded(self.certificates.file("ca")),
        }
        credentials = token or self.certificates.of_user(user)
        context = {"cluster": "tests", "user": user, "namespace": namespace}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "tests", "cluster": cluster}],
            "users": [{"name": user, "user": credentials}],
            "contexts": [{"name": user, "context": context}],
            "current-context": user,
        }

    def launch_apiserver(self) -> None:
        issued = self.certificates
        accounts = issued.key("serviceaccounts")
        self.control.start(
            "kube-apiserver",
            *(self.programs / "kube-apiserver", "--etcd-servers=http://127.0.0.1:2379"),
            *(f"--bind-address={self.host(1)}", f"--advertise-address={self.host(1)}"),
            f"--tls-cert-file={issued.file('apiserver')}",
            f"--tls-private-key-file={issued.key('apiserver')}",
            f"--client-ca-file={issued.file('ca')}",
            *("--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"),
            f"--kubelet-certificate-authority={issued.file('ca')}",
            f"--kubelet-client-certificate={issued.file('admin')}",
            f"--kubelet-client-key={issued.key('admin')}",
            "--kubelet-preferred-address-types=InternalIP",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={accounts}",
            f"--service-account-key-file={accounts}",
            f"--service-cluster-ip-range={self.subnet(15)}",
            *GIVEN_UP,
        )

    def _serve_inside(self) -> None:
        """Do for the address of the service "kubernetes" what kube-proxy would."""
        listen = f"TCP-LISTEN:443,bind={self.service},reuseaddr,fork"
        self.control.start("service", "socat", listen, f"TCP:{self.host(1)}:6443")

    def kill_apiserver(self) -> None:
        self.control.programs["kube-apiserver"].kill()

    def start_apiserver(self) -> None:
        """After it was killed."""
        self.launch_apiserver()
        self.wait_for_apiserver()

    def wait_for_apiserver(self) -> None:
        def ready() -> bool:
            with suppress(OSError, Refused):
                return self.admin.get("/readyz", timeout=5) == "ok"
            return False

        wait_until(ready, self.control.programs["kube-apiserver"])

    def _start_controller_manager(self) -> None:
        """Not before the nodes are ready.

        When all nodes are unready at once, 1.20 leaves entries in its queue of nodes to give up
        that nothing ever removes, and then it never gives up any: pods of dead nodes would stay.
        """
        accounts = self.certificates.key("serviceaccounts")
        self._start_controller(
            "kube-controller-manager",
            f"--service-account-private-key-file={accounts}",
            f"--root-ca-file={self.certificates.file('ca')}",
            *CONTROLLER,
        )

    def _start_controller(self, name: str, *flags: str) -> None:
        config = self.directory / f"{name}.kubeconfig"
        config.write_text(json.dumps(self.kubeconfig_of(name)))
        silent = ("--leader-elect=false", "--port=0", "--secure-port=0")
        self.control.start(name, self.programs / name, f"--kubeconfig={config}", *silent, *flags)

    def _pause_image(self) -> Path:
        """The container that holds the namespaces of a pod has this one program."""
        path = self.directory / "pause.tar"
        program = (self.programs / "pause").read_bytes()
        with tarfile.open(path, "w") as tar:
            member = tarfile.TarInfo("pause")
            member.size, member.mode = len(program), 0o755
            tar.addfile(member, io.BytesIO(program))
        return path
