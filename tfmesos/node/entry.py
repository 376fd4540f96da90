"""The wrapper of ``--entry``: creates the server of its task and calls the user's function.

It runs in its own process, with ``tf_server``; ``own_modules`` describes how both get there.
"""

from __future__ import annotations

import json
import os
import sys

from .tf_server import (
    CannotServe,
    device_counts,
    import_tensorflow,
    print_stacks_if_asked,
    start,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType
    from typing import Any

WRONG_INPUT, CANNOT_SERVE, NO_LOG_DIR = 2, 1, 74  # exit codes
_LOG_DIR_NAMES = ("{{log_dir}}", "{{shared_filesystem}}")  # the latter is what DC/OS calls it


class WrongEntry(Exception):
    """The reason, in words for the user."""


def main(entry: str) -> None:
    """Call *entry*, ``[DIR/]MODULE:FUNCTION``; an exception from it ends the task."""
    print_stacks_if_asked()
    _make_absolute("HADOOP_CONF_DIR")  # what was shipped has no place that is known before
    try:
        function = load(entry)
        log_dir = make_log_dir(os.environ)
        server = make_server(os.environ)
    except WrongEntry as error:
        sys.exit(_complain(f"entry {entry}: {error}", WRONG_INPUT))
    except CannotServe as error:
        sys.exit(_complain(str(error), CANNOT_SERVE))
    except OSError as error:
        problem = f"cannot make the log directory {error.filename}: {error.strerror}"
        sys.exit(_complain(problem, NO_LOG_DIR))
    function(server, log_dir, filled(json.loads(os.environ["TFMESOS_CONTEXT"]), log_dir))


def _make_absolute(name: str) -> None:
    if os.path.exists(os.environ.get(name, "")):
        os.environ[name] = os.path.abspath(os.environ[name])


def _complain(problem: str, code: int) -> int:
    sys.stderr.write(f"tfmesos: {problem}\n")
    return code


def load(entry: str) -> Callable[..., Any]:
    """The function that *entry* names, if it accepts our arguments."""
    path, _, name = entry.rpartition(":")
    directory, _, module = path.rpartition("/")
    sys.argv[:] = [path]  # ours are not for a parser of the user's
    if directory:
        sys.path.insert(0, os.path.abspath(directory))
    found = getattr(_import(module, directory or os.getcwd()), name, None)
    function: Callable[..., Any] | None = found if callable(found) else None
    if function is None:
        raise WrongEntry(f"the module {module} has no function {name}")
    _check_parameters(function, name)
    return function


def _import(name: str, place: str) -> ModuleType:
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise  # a module that the user's own one needs
        raise WrongEntry(f"there is no module {error.name} in {place} or on PYTHONPATH") from None
    return sys.modules[name]


def _check_parameters(function: Callable[..., Any], name: str) -> None:
    import inspect

    try:
        inspect.signature(function).bind("server", "log_dir", "context")
    except TypeError as error:
        call = f"{name}(server, log_dir, context)"
        raise WrongEntry(f"it cannot be called as {call}: {error}") from None
    except ValueError:
        pass  # it does not tell: we shall see


def make_log_dir(environ: Mapping[str, str]) -> str:
    """The given one, or a directory in that of the task. Creates it unless it is a URL."""
    own = environ.get("TFMESOS_TASK_DIR") or os.getcwd()
    log_dir = environ.get("TFMESOS_LOG_DIR") or os.path.join(own, "logs")
    if "://" not in log_dir:
        os.makedirs(log_dir, exist_ok=True)
    return log_dir


def make_server(environ: Mapping[str, str]) -> Any:
    """The server of this task, listening; an evaluator, which is in no cluster, gets one alone."""
    tf = import_tensorflow()
    config = json.loads(environ["TF_CONFIG"])
    cluster, task = config["cluster"], config["task"]
    amounts = {"cpus": float(environ["TFMESOS_CPUS"]), "gpus": float(environ["TFMESOS_GPUS"])}
    if task["type"] not in cluster:
        return tf.distribute.Server.create_local_server(config=device_counts(tf, amounts))
    indexed = {name: dict(enumerate(addresses)) for name, addresses in cluster.items()}
    place = {"cluster": indexed, "job": task["type"], "index": task["index"]}
    return start(tf, {**place, **amounts, "protocol": environ["TFMESOS_PROTOCOL"]})


def filled(value: Any, log_dir: str) -> Any:
    """The context, with the log directory filled into its strings."""
    if isinstance(value, dict):
        return {key: filled(one, log_dir) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, log_dir) for one in value]
    if isinstance(value, str):
        for name in _LOG_DIR_NAMES:
            value = value.replace(name, log_dir)
    return value
