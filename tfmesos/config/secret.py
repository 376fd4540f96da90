"""A text that no report, log or traceback shows by accident."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..record import NOTHING, Record


class Secret:
    """Hides a text until ``reveal`` returns it to the code that sends it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "(a secret)"

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)


class TaskSecrets(Record):
    """The secrets of a run, which its tasks receive only over their links."""

    files: Mapping[str, Secret] = NOTHING  # by name; the content in base64, for it may be bytes
    variables: Mapping[str, Secret] = NOTHING  # of the command alone
    paths: Mapping[str, str] = NOTHING  # variables of all steps, and the file each leads to
    principal: str = ""  # of Kerberos, for which each task gets a ticket
    given_by: str = ""  # the first setting that gave any
    missing: str = ""  # why they cannot be read again after a take-over

    def reveal(self) -> dict[str, Any] | None:
        """As a runner receives them; None if there are none."""
        if not self.given_by:
            return None
        return {
            "files": {name: secret.reveal() for name, secret in self.files.items()},
            "env": {name: secret.reveal() for name, secret in self.variables.items()},
            "paths": dict(self.paths),
            "principal": self.principal,
        }


def without_values(text: str) -> str:
    """An argument with ``***`` for the value of a variable: KEY=VALUE, --env=KEY=VALUE."""
    return re.sub(r"\A((?:--[\w-]+=)?[A-Za-z_]\w*)=.+", r"\1=***", text, flags=re.S)


def without_password(text: str) -> str:
    """The text with ``***`` for the credentials of addresses such as zk://USER:PASSWORD@HOST."""
    return re.sub(r"://\S*@", "://***@", text)
