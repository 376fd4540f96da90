"""The keys of a run in a file of its directory, for its owner alone, as long as the run is alive.

Whoever has this file can continue the run, and speak to its tasks as their launcher.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from ...config.launch_config import Access, LaunchConfig
from ...config.secret import TaskSecrets
from ...json_types import Json
from ...launcher.keys import Keys
from ...launcher.past import CannotTakeOver
from ..event_json import from_json, to_json
from ..run_files import RunDirectory


class Kept:
    """The content of the file: the settings of the run without its secrets, and its keys."""

    def __init__(
        self,
        config: LaunchConfig,
        epoch: int,
        values: Mapping[str, str],
        has_credentials: bool,
    ) -> None:
        self.config = config
        self.epoch = epoch
        self.values = values
        self.has_credentials = has_credentials  # for its engine


def keep(
    run: RunDirectory, config: LaunchConfig, epoch: int = 1, found: Kept | None = None
) -> Keys:
    """The keys of *run*, new or *found*, which are in its directory from now on."""
    known = {
        "epoch": epoch,
        "config": to_json(without_secrets(config)),
        "credentials": config.access != Access(),
    }

    def write(values: Mapping[str, str]) -> None:
        _write(run, {**known, "values": dict(values)})

    keys = Keys({} if found is None else found.values, epoch, write)
    write(keys.values)
    return keys


def without_secrets(config: LaunchConfig) -> LaunchConfig:
    """Credentials and secrets are not kept: they are read again from where they came from."""
    secrets = TaskSecrets(given_by=config.secrets.given_by)
    return config.replace(access=Access(), secrets=secrets)


def read(run: RunDirectory) -> Kept | None:
    """None if there is no such file, or it is not valid."""
    try:
        found = json.loads(run.keys_file.read_bytes())
        config = from_json(found["config"])
        epoch, values = found["epoch"], found["values"]
        has_credentials = bool(found["credentials"])
    except (OSError, ValueError, TypeError, LookupError):
        return None
    is_right = isinstance(config, LaunchConfig) and isinstance(epoch, int)
    if not is_right or not isinstance(values, dict):
        return None
    return Kept(config, epoch, values, has_credentials)


def known_keys(run: RunDirectory) -> Kept:
    """Raises CannotTakeOver if they cannot be read."""
    found = read(run)
    if found is None:
        raise CannotTakeOver(f"run {run.id} cannot be taken over: its keys cannot be read")
    return found


def has_left(run: RunDirectory) -> bool:
    """Has the last launcher left the run to the next one in an orderly way?"""
    found = read(run)
    return found is not None and found.epoch in Keys(found.values).gone


def leave(run: RunDirectory, keys: Keys) -> None:
    """This launcher leaves the run to the next one, unless another one has it already."""
    found = read(run)
    if found is not None and found.epoch == keys.epoch:
        keys.ended(keys.epoch)


def _write(run: RunDirectory, content: Json) -> None:
    """Write all of it or nothing, and wait for the disk: without its keys a run is lost."""
    new = run.keys_file.with_name(f".{run.keys_file.name}.new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(run.keys_file)
