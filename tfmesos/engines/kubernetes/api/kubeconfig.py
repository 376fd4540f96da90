"""From ``k8s://[CONTEXT][/NAMESPACE]`` and a kubeconfig to the access to a cluster."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ....config.engine_kinds import KUBERNETES_SCHEME
from ....config.secret import Secret
from ....errors import UnreadableFile
from ....json_types import Json
from ....plain_file import beginning
from ....text import suggestion
from .access import Access, Login, Plugin
from .credentials import unreadable
from .kubeconfig_files import MAX_FILE, Entry, Kubeconfig, read_kubeconfig, wrong
from .proxies import route

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_VERSIONS = {f"client.authentication.k8s.io/{name}" for name in ("v1", "v1beta1")}
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")


def access(
    master: str,
    environ: Mapping[str, str] = os.environ,
    service_account: str = SERVICE_ACCOUNT,
    usual_namespace: str = "",
) -> Access:
    """How to reach the cluster that *master* names. Raises SpecError.

    *usual_namespace* is that of the run unless the master names one.
    """
    wanted = master.removeprefix(KUBERNETES_SCHEME)
    config = read_kubeconfig(environ)
    if config is None:
        return _inside_cluster(wanted, usual_namespace, environ, service_account)
    context, namespace = _chosen(wanted, config)
    entry = config.entry("contexts", context)
    found = _access(config, context, entry, environ)
    namespace = namespace or usual_namespace or entry.text("namespace") or "default"
    return found.replace(namespace=_checked(namespace))


def is_inside(
    environ: Mapping[str, str] = os.environ, service_account: str = SERVICE_ACCOUNT
) -> bool:
    """Do we run in a pod of the cluster that we use? Then our address ends with the pod."""
    return os.path.exists(f"{service_account}/token") and read_kubeconfig(environ) is None


def _chosen(wanted: str, config: Kubeconfig) -> tuple[str, str]:
    """Context and namespace: an exact name wins, because names of cloud providers have slashes."""
    names = config.names("contexts")
    if wanted and wanted in names:
        return wanted, ""
    context, _, namespace = wanted.rpartition("/") if "/" in wanted else (wanted, "", "")
    context = context or _current(config, names)
    if context in names:
        return context, namespace
    near = suggestion(context, names) or suggestion(wanted, names)
    known = "" if near else f"; it has {', '.join(sorted(names)[:5]) or 'none'}"
    raise wrong(f"names the context {context!r}, which {config.path} does not have{known}{near}")


def _current(config: Kubeconfig, names: set[str]) -> str:
    if config.current:
        return config.current
    known = ", ".join(sorted(names)[:5]) or "none"
    raise wrong(f"names no context, and {config.path} has no current-context; it has {known}")


def _checked(namespace: str) -> str:
    if not _NAMESPACE.match(namespace):
        raise wrong(
            f"names the namespace {namespace!r}: it may contain only a-z, 0-9 and, between these, -"
        )
    return namespace


def _access(config: Kubeconfig, context: str, entry: Entry, environ: Mapping[str, str]) -> Access:
    cluster = config.named("clusters", entry, "cluster")
    user = config.named("users", entry, "user") if entry.text("user") else Entry({}, "", "")
    authority, server = cluster.content("certificate-authority"), _server(cluster)
    return Access(
        server=server,
        route=route(server, environ, cluster),
        namespace="default",
        context=context,
        authority=authority,
        is_verified=not cluster.values.get("insecure-skip-tls-verify"),
        server_name=cluster.text("tls-server-name"),
        login=_login(user),
        cluster=_told_to_plugin(cluster, authority),
    )


def _server(cluster: Entry) -> str:
    server = cluster.text("server").rstrip("/")
    try:
        parts = urlsplit(server)
        good = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
        parts.port  # noqa: B018 -- ValueError if it is none
    except ValueError:
        good = False
    if not good:
        raise wrong(f"needs a server such as https://HOST:PORT in {cluster.place}")
    return server


def _login(user: Entry) -> Login:
    user.refuse("auth-provider", "it was removed from Kubernetes; use an exec plugin")
    for name in ("as-uid", "as-user-extra"):
        user.refuse(name, "only as and as-groups are supported for impersonation")
    token, password = user.text("token"), user.text("password")
    certificate, key = user.content("client-certificate"), user.content("client-key")
    if certificate and not key:
        raise wrong(f"needs a client-key for the client-certificate of {user.place}")
    return Login(
        token=Secret(token) if token else None,
        token_file=user.path_of("tokenFile"),
        username=user.text("username"),
        password=Secret(password) if password or user.text("username") else None,
        certificate=Secret(certificate) if certificate else None,
        key=Secret(key) if key else None,
        plugin=_plugin(user),
        acts_as=user.text("as"),
        acts_in=_groups(user),
    )


def _groups(user: Entry) -> tuple[str, ...]:
    """The groups of the user that we act as."""
    found = user.values.get("as-groups") or []
    if not isinstance(found, list) or not all(isinstance(group, str) for group in found):
        raise wrong(f"needs strings as as-groups in {user.place}")
    if found and not user.text("as"):
        raise wrong(f"needs a user in as for the as-groups of {user.place}")
    return tuple(found)


def _plugin(user: Entry) -> Plugin | None:
    if not user.values.get("exec"):
        return None
    given = user.part("exec")
    command, version = given.text("command"), given.text("apiVersion")
    if version not in _VERSIONS:
        raise wrong(f"needs apiVersion {' or '.join(sorted(_VERSIONS))} in {given.place}")
    if given.text("interactiveMode") == "Always":
        raise wrong(f"cannot use {given.place}: it is interactive (interactiveMode Always)")
    if not command:
        raise wrong(f"needs a command in {given.place}")
    if "/" in command:
        command = given.path_of("command")
    args = given.values.get("args") or []
    if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
        raise wrong(f"needs strings as args in {given.place}")
    return Plugin(
        command=command,
        args=Secret(json.dumps(args)),
        variables=_variables(given),
        version=version,
        hint=" ".join(given.text("installHint").split()),
        wants_cluster=bool(given.values.get("provideClusterInfo")),
    )


def _variables(given: Entry) -> dict[str, Secret]:
    found = {}
    for pair in given.values.get("env") or []:
        name, value = (pair.get("name"), pair.get("value")) if isinstance(pair, dict) else (0, 0)
        if not isinstance(name, str) or not isinstance(value, str):
            raise wrong(f"needs an env of names and values in {given.place}")
        found[name] = Secret(value)
    return found


def _told_to_plugin(cluster: Entry, authority: str) -> Json:
    """The cluster, as an ExecCredential has it."""
    told: dict[str, Any] = {"server": cluster.text("server")}
    if authority:
        told["certificate-authority-data"] = base64.b64encode(authority.encode()).decode()
    if cluster.values.get("insecure-skip-tls-verify"):
        told["insecure-skip-tls-verify"] = True
    if url := cluster.text("proxy-url"):
        told["proxy-url"] = url
    if name := cluster.text("tls-server-name"):
        told["tls-server-name"] = name
    for extension in cluster.values.get("extensions") or []:
        if isinstance(extension, dict) and extension.get("name") == _EXTENSION:
            told["config"] = extension.get("extension")
    return told


_EXTENSION = "client.authentication.k8s.io/exec"


def _inside_cluster(
    wanted: str, usual_namespace: str, environ: Mapping[str, str], folder: str
) -> Access:
    context, _, namespace = wanted.rpartition("/") if "/" in wanted else (wanted, "", "")
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port or not os.path.exists(f"{folder}/token"):
        where = environ.get("KUBECONFIG") or "~/.kube/config"
        raise UnreadableFile(
            None,
            "master",
            f"needs a kubeconfig, and there is none at {where}: set KUBECONFIG to its path",
        )
    if context:
        raise wrong(f"names the context {context!r}, but there is no kubeconfig: give k8s://")
    address = f"[{host}]" if ":" in host else host
    server = f"https://{address}:{port}"
    return Access(
        server=server,
        route=route(server, environ),
        namespace=_checked(namespace or usual_namespace or _first_line(f"{folder}/namespace")),
        authority=_content(f"{folder}/ca.crt"),
        login=Login(token_file=f"{folder}/token"),
    )


def _first_line(path: str) -> str:
    return _content(path).strip() if os.path.exists(path) else "default"


def _content(path: str) -> str:
    try:
        return beginning(path, MAX_FILE).decode()
    except (OSError, ValueError) as error:
        raise unreadable("the service account", path, error) from None
