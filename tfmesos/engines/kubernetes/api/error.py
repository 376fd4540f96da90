"""Errors of an API server, classified, with messages for the user."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ....errors import EngineError
from ....json_types import Json
from ....record import NOTHING, Record
from ....text import shortened

_RETRYABLE = {408, 429, 500, 502, 503, 504}
_EXIT_CODES = {422: 2, 413: 2, 429: 75}  # 69 otherwise
_BY_RBAC = re.compile(r"cannot (\w+) resource \"([\w./-]+)\" in API group \"([\w.-]*)\"")
_QUOTA = "exceeded quota"
MOST_WORDS = 600  # characters of an answer that are shown


class Question(Record):
    """What the server was asked."""

    verb: str  # as RBAC calls it
    resource: str  # the plural, and the subresource behind a slash
    namespace: str  # empty for what belongs to the whole cluster
    name: str = ""
    server: str = ""

    @property
    def words(self) -> str:
        what = f"{self.resource} {self.name}".strip()
        return f"{self.verb} {what} {self.place}"

    @property
    def place(self) -> str:
        return f"in namespace {self.namespace}" if self.namespace else "of the whole cluster"


class ApiError(EngineError):
    """The API server did not carry out a request;

    ``is_retryable``: a retry may succeed.

    *code* is the HTTP status, 0 if there was no answer; *reason*, *message* and *details* are
    those of the Status that it sent.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] = NOTHING,
        words: str = "",
    ) -> None:
        super().__init__(words or message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.exit_code = 75 if self.is_quota else _EXIT_CODES.get(code, EngineError.exit_code)
        if self.is_missing_namespace:
            self.exit_code = 2

    @property
    def is_retryable(self) -> bool:
        return self.code == 0 or self.code in _RETRYABLE

    @property
    def is_quota(self) -> bool:
        return self.code == 403 and _QUOTA in self.message

    @property
    def is_missing_right(self) -> bool:
        """Is a role missing, and not a quota exceeded or a policy violated?"""
        return self.code == 403 and bool(_BY_RBAC.search(self.message))

    @property
    def is_missing_namespace(self) -> bool:
        return self.code == 404 and self.details.get("kind") == "namespaces"


def is_retryable(error: Exception) -> bool:
    return isinstance(error, ApiError) and error.is_retryable


class Unreachable(ApiError):
    """There was no complete answer: the connection failed or broke, or it took too long."""

    def __init__(self, message: str, words: str = "") -> None:
        super().__init__(0, "Unreachable", message, words=words)


class Untrusted(ApiError):
    """There was no connection, and a retry would not help: the certificates do not match."""

    is_retryable = False

    def __init__(self, message: str) -> None:
        super().__init__(0, "Untrusted", message)


class NotKubernetes(ApiError):
    """The other end does not follow the protocol of an API server."""

    is_retryable = False

    def __init__(self, message: str) -> None:
        super().__init__(0, "NotKubernetes", message)


class MissingRights(ApiError):
    """A review says that the user may not do what a run needs."""

    is_missing_right = True

    def __init__(self, message: str) -> None:
        super().__init__(403, "Forbidden", message)


class Expired(ApiError):
    """The resource version is too old for a watch: list again, and watch from there."""


def refusal(status: int, body: Any, question: Question) -> ApiError:
    """The error for an answer of this HTTP *status*, whose body was this JSON (None: no JSON)."""
    said = body if isinstance(body, dict) else {}
    return status_error({"code": status, **said}, question)


def status_error(status: Json, question: Question) -> ApiError:
    """The error for a Status of the API, which may contain anything."""
    code = status.get("code")
    code = code if isinstance(code, int) and not isinstance(code, bool) else 0
    reason = _text(status.get("reason"))
    message = _text(status.get("message")) or reason or "it gave no reason"
    details = status.get("details")
    details = details if isinstance(details, dict) else {}
    kind = Expired if code == 410 else ApiError
    return kind(code, reason, message, details, _words(code, message, details, question))


def _words(code: int, message: str, details: Json, question: Question) -> str:
    where = f"the Kubernetes API server {question.server}".rstrip()
    if code == 401:
        way_out = "the token or certificate of this kubeconfig user may have expired: log in again"
        return f"{where} rejected the credentials (401 {message}): {way_out}"
    if code == 403:
        return _forbidden(message, question)
    if code == 404 and details.get("kind") == "namespaces":
        missing = f"there is no namespace {details.get('name', question.namespace)!r}"
        return f"{missing} on {where}: create it, or name another one in k8s://CONTEXT/NAMESPACE"
    return f"{where} refused to {question.words}: {code} {message}"


def _forbidden(message: str, question: Question) -> str:
    """With the rule that would allow it, if one is missing."""
    if 'User "system:anonymous"' in message:
        why = "the user of the kubeconfig has no credentials that the server accepts"
        return f"not allowed to {question.words} as an anonymous user: {why} ({message})"
    found = _BY_RBAC.search(message)
    if not found:  # a quota, a policy of the cluster
        return f"the cluster refused to {question.words}: {message}"
    verb, resource, group = found.groups()
    kind = "Role" if question.namespace else "ClusterRole"
    rule = f'{{apiGroups: ["{group}"], resources: ["{resource}"], verbs: ["{verb}"]}}'
    asked = question.replace(verb=verb, resource=resource, name="").words
    return f"not allowed to {asked}: a {kind} with the rule {rule} would allow it ({message})"


def _text(value: object) -> str:
    return shortened(value, MOST_WORDS) if isinstance(value, str) else ""
