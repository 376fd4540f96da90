"""DC/OS TensorFlow: the options.json of ``dcos package install tensorflow --options=FILE``.

Its jobs call ``main(server, log_dir, context)`` of a module: our ``entry``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..config.constraints import parse as parse_constraint
from ..text import shortened
from . import json_text, tensorboard_job
from .export_common import at
from .parts import Part
from .reading import Unreadable
from .translation import NOTHING_BESIDE, Beside, Document, JobFileError, Key, Translation

# Section of theirs -> job of ours, and what a task of it has unless the section says otherwise.
_USUAL: Document = {"cpus": 1, "mem": 4096, "disk": 4096}
_SECTIONS: tuple[tuple[str, str, Document], ...] = (
    ("gpu_worker", "gpu_worker", {"num": 0, **_USUAL, "gpus": 1, "task_type": "worker"}),
    ("worker", "worker", {"num": 3, **_USUAL, "port": 2222}),
    ("parameter_server", "ps", {"num": 2, **_USUAL, "port": 2223}),
)
_BOARD: Document = {"cpus": 1, "mem": 4096, "port": 6006}
_SETTINGS = {  # field of ours -> key of theirs, in ``service``
    "name": "name",
    "user": "user",
    "image": "tf_image",
    "ship": "job_url",
    "entry": "job_name",
    "context": "job_context",
    "log_dir": "shared_filesystem",
    "constraints": "placement_constraint",
    "gcs_key": "use_gcs_key_secret",
}
_KERBEROS = {"keytab": "keytab_secret", "krb5_principal": "primary"}
_DEFAULT_USERS = ("nobody", "root")  # of the package, and of the files of its script
_DEFAULT_PRIMARY = "tensorflow"
_PLACEMENT = "placement_constraint"
_OLD_IMAGE = "mesosphere/dcos-tensorflow"
_GCS_KEY = "gcs_key"  # what the package calls its secret
_BASE64 = "__dcos_base64__"  # in names of secrets whose content is not text
_OF_NETWORK = ("virtual_network_name", "virtual_network_plugin_labels")  # go with _enabled
_HADOOP_FILES = ("core-site.xml", "hdfs-site.xml")
_HADOOP_DIRECTORY = "hadoop-conf"
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_ON_THE_NODE = ("log_dir", "shared_filesystem")  # variables that the wrapper of the entry fills in
_IDENTIFIER = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def is_mine(tree: dict[str, Any]) -> bool:
    return isinstance(tree.get("service"), Mapping) and not {"jobs", "cmd", "command"} & tree.keys()


def to_ours(tree: dict[str, Any], beside: Beside = NOTHING_BESIDE) -> Translation:
    remarks: list[str] = []
    options = Part(tree, (), remarks)
    document, wants_board = _service(options.part("service"), tree["service"])
    origins: dict[Key, Key] = {(ours,): ("service", key) for ours, key in _SETTINGS.items()}
    origins |= {(k,): ("service", "security", "kerberos", v) for k, v in _KERBEROS.items()}
    origins["ship_files",] = ("service", "hdfs", "config_uri")
    document["jobs"] = _jobs(options, document.pop("gpu_image"), origins)
    board = options.part("tensorboard")
    if wants_board:
        document["jobs"] |= _board(board, beside.log_dir or document.get("log_dir"), origins)
    else:
        _fields(board, _BOARD, ("tensorboard",), {})  # checked nevertheless
    options.close()
    return Translation(document, tuple(remarks), origins)


def _service(service: Part, values: Mapping[str, Any]) -> tuple[Document, bool]:
    """The settings of the run, and whether it has a TensorBoard."""
    fill = _Filler(service, values)
    document: Document = {"name": service.text("name") or "tensorflow"}
    document["gpu_image"] = service.text("gpu_tf_image") or None
    found = {
        "image": _image(service),
        "user": _user(service),
        "ship": (fill.text(service.text("job_url")) or "").strip(),
        "entry": _entry(service, fill),
        "context": fill.context(_context(service, values.get("job_context"))),
        "log_dir": _log_dir(service, fill),
        "constraints": _constraints(service),
    }
    document |= {field: value for field, value in found.items() if value}
    document |= _hdfs(service.part("hdfs"))
    wants_board = service.flag("use_tensorboard")
    document |= _secrets(service)
    _meaningless(service)
    service.close()
    return document, wants_board


class _Filler:
    """Puts the values of ``service`` in place of ``{{name}}`` in its texts."""

    def __init__(self, service: Part, values: Mapping[str, Any]) -> None:
        self._service = service
        self._values = {k: str(v) for k, v in values.items() if isinstance(v, str | int | float)}
        self._said: set[str] = set()

    def context(self, value: Any) -> Any:
        """Only a node knows the log directory."""
        if isinstance(value, dict):
            return {key: self.context(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.context(one) for one in value]
        return _VARIABLE.sub(self._unless_later, value) if isinstance(value, str) else value

    def text(self, text: str | None) -> str | None:
        return text and _VARIABLE.sub(self._one, text)

    def _unless_later(self, found: re.Match[str]) -> str:
        return f"{{{{{found[1]}}}}}" if found[1] in _ON_THE_NODE else self._one(found)

    def _one(self, found: re.Match[str]) -> str:
        name = found[1]
        if name not in self._values and name not in self._said:
            self._said.add(name)
            reason = f"is not a key of service: {found[0]} stays as it is"
            self._service.remarks.append(f"{name} {reason}")
        return self._values.get(name, found[0])


def _image(service: Part) -> str | None:
    image = service.text("tf_image")
    if image and image.startswith(_OLD_IMAGE):
        service.remark("tf_image", "has a Python older than 3.8: override it with an empty image")
    return image


def _user(service: Part) -> str | None:
    user = service.text("user")
    if user in _DEFAULT_USERS:
        reason = f"{user} is not taken over: the tasks run as you; see the setting user"
        service.remark("user", reason)
        return None
    return user


def _entry(service: Part, fill: _Filler) -> str:
    path, name = fill.text(service.text("job_path")), fill.text(service.text("job_name"))
    if not name:
        service.fail("job_name", "is missing: it is the name of the module that has main()")
    if not _IDENTIFIER.fullmatch(name):
        service.fail("job_name", f"must be the name of a module, without .py, got {name!r}")
    parts = [part for part in (path or "").split("/") if part not in ("", ".")]
    if (path or "").startswith("/") or ".." in parts:
        service.fail("job_path", f"must be a path inside the files of job_url, got {path!r}")
    return "/".join([*parts, f"{name}:main"])


def _log_dir(service: Part, fill: _Filler) -> str | None:
    found = fill.text(service.text("shared_filesystem"))
    if found and not found.startswith("/") and "://" not in found:
        problem = f"must be an absolute path or a URL, the same for all nodes, got {found!r}"
        service.fail("shared_filesystem", problem)
    return found


def _context(service: Part, given: Any) -> Any:
    """A JSON object in a string; the object itself is accepted, too."""
    if isinstance(given, dict):
        return service.values("job_context")
    text = service.text("job_context")
    if not text or not text.strip():
        return None
    try:
        found, _ = json_text.parse(text)
    except Unreadable as error:
        service.fail("job_context", f"must be a string with a JSON object, but {error.problem}")
    if not isinstance(found, dict):
        service.fail("job_context", f"must be a string with a JSON object, got {found!r}")
    return found


def _hdfs(hdfs: Part) -> Document:
    """The files of a Hadoop client, which are sent to every task."""
    address = hdfs.text("config_uri")
    hdfs.close()
    if not address:
        return {}
    base = address.rstrip("/")
    files = [f"{base}/{name}:{_HADOOP_DIRECTORY}/{name}" for name in _HADOOP_FILES]
    return {"ship_files": files, "env": {"HADOOP_CONF_DIR": _HADOOP_DIRECTORY}}


def _secrets(service: Part) -> Document:
    """There is no secret store here: a secret is a file of that name where tfrun runs."""
    inline = (
        "must not be in a job file: put the key into a file and name that file with the setting "
        "gcs_key"
    )
    service.refuse(gcs_key=inline)
    found: Document = {}
    if service.flag("use_gcs_key_secret"):
        found["gcs_key"] = _GCS_KEY
        service.remark("use_gcs_key_secret", _from_file(_GCS_KEY, "gcs_key"))
    security = service.part("security")
    found |= _kerberos(security.part("kerberos"))
    security.warn(transport_encryption="has no effect here: TensorFlow's servers speak no TLS")
    security.close()
    return found


def _from_file(name: str, setting: str) -> str:
    return f"is the file {name} here; the setting {setting} names another one"


def _kerberos(kerberos: Part) -> Document:
    is_enabled, kdc = kerberos.flag("enabled"), kerberos.part("kdc")
    host, port = kdc.text("hostname"), kdc.whole("port")
    kdc.close()
    primary, realm = kerberos.text("primary") or _DEFAULT_PRIMARY, kerberos.text("realm")
    secret = kerberos.text("keytab_secret")
    kerberos.warn(debug="has no effect here")
    kerberos.close()
    if not is_enabled:
        return {}
    for name, value in (("realm", realm), ("keytab_secret", secret)):
        if not value:
            kerberos.fail(name, "is missing: a task needs it for its ticket")
    keytab = str(secret).rpartition("/")[2].removeprefix(_BASE64)
    kerberos.remark("keytab_secret", _from_file(keytab, "keytab"))
    if host:
        address = f"{host}:{port or 88}"
        kerberos.remark(
            "kdc", f"{address} must be in krb5.conf of the nodes, or in the setting krb5_conf"
        )
    return {"keytab": keytab, "krb5_principal": f"{primary}@{realm}"}


def _meaningless(service: Part) -> None:
    of_dcos = (
        "has no effect here: it is for DC/OS itself; see the settings principal and token_file"
    )
    network = "has no effect here: tasks use the network of their node"
    service.warn(
        service_account=of_dcos,
        service_account_secret=of_dcos,
        principal=of_dcos,
        secret_name=of_dcos,
        virtual_network_enabled=network,
        log_level="has no effect here: see the setting logs",
        mesos_api_version="has no effect here",
        region="has no effect here: see the setting constraints",
    )
    service.drop(*_OF_NETWORK)


def _jobs(options: Part, gpu_image: str | None, origins: dict[Key, Key]) -> Document:
    jobs: Document = {}
    for section, name, usual in _SECTIONS:
        if section == "parameter_server" and "ps" in options:  # in the older files
            if section in options:
                options.fail("ps", "and parameter_server mean the same: give only one")
            section = "ps"
        part = options.part(section)
        fields = _fields(part, usual, ("jobs", name), origins)
        if fields["num"]:
            jobs[name] = fields
    if "gpu_worker" in jobs and gpu_image:
        jobs["gpu_worker"]["image"] = gpu_image
        origins["jobs", "gpu_worker", "image"] = ("service", "gpu_tf_image")
    if not {"worker", "gpu_worker"} & jobs.keys():
        raise JobFileError(("worker", "count"), "and gpu_worker.count are 0: no task calls main()")
    return jobs


def _board(part: Part, log_dir: str | None, origins: dict[Key, Key]) -> Document:
    fields = _fields(part, _BOARD, ("jobs", tensorboard_job.JOB), origins)
    if log_dir is None:
        part.remarks.append(
            "service.use_tensorboard needs a shared_filesystem to read: no TensorBoard"
        )
        return {}
    return {tensorboard_job.JOB: {**fields, **tensorboard_job.job(log_dir)}}


def _fields(part: Part, usual: Document, ours: Key, origins: dict[Key, Key]) -> Document:
    """The fields of a job of ours, from a section."""
    if "cpu" in part and "cpus" in part:
        part.fail("cpu", "and cpus mean the same: give only one")
    cpus = "cpu" if "cpu" in part else "cpus"
    given = {
        "num": part.whole("count"),
        "cpus": part.number(cpus),
        "gpus": part.whole("gpus"),
        "mem": part.number("mem"),
        "disk": part.number("disk"),
        "port": part.whole("port"),
        "constraints": _constraints(part),
    }
    kind = part.text("disk_type")
    if kind not in (None, "ROOT"):
        part.remark("disk_type", f"{kind} has no effect here: disk space comes from the sandbox")
    network = "has no effect here: tasks use the network of their node"
    part.warn(network=network, virtual_network_enabled=network, vip="has no effect here")
    part.drop(*_OF_NETWORK)
    part.close()
    theirs = {"num": "count", "cpus": cpus, "constraints": _PLACEMENT}
    for field in given:
        origins[*ours, field] = part.key_of(theirs.get(field, field))
    return {**usual, **{field: value for field, value in given.items() if value is not None}}


def _constraints(part: Part) -> list[str] | None:
    """``hostname:UNIQUE,rack:LIKE:a|b``, or the lists of Marathon in JSON."""
    text = (part.text(_PLACEMENT) or "").strip()
    found = _listed(part, text) if text.startswith("[") else text.split(",")
    texts = [one.strip() for one in found if one.strip()]
    for one in texts:
        at(part.key_of(_PLACEMENT), parse_constraint, one)
    return texts or None


def _listed(part: Part, text: str) -> list[str]:
    try:
        found, _ = json_text.parse(text)
    except Unreadable:
        found = [None]
    lists = [found] if found and isinstance(found[0], str) else found  # of a single one
    for words in lists:
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            form = 'hostname:UNIQUE or [["hostname", "UNIQUE"]]'
            part.fail(_PLACEMENT, f"must be {form}, got {shortened(text, 60)!r}")
    return [":".join(words) for words in lists]
