"""Asks the server for our rights, before anything is created."""

from __future__ import annotations

import asyncio
import logging

from ..api.client import Client
from ..api.error import ApiError
from . import rights

log = logging.getLogger(__name__)


async def check_rights(client: Client, dials: bool) -> bool:
    """ApiError if some are missing; False if the server does not say what we may do."""
    namespace, ask = client.namespace, client.create
    try:
        review = await ask("selfsubjectrulesreviews", rights.rules_review(namespace))
        unsure = rights.lacking(review, rights.needed(dials))
        reviews = [rights.access_review(namespace, right) for right in unsure]
        found = await asyncio.gather(*(ask("selfsubjectaccessreviews", it) for it in reviews))
    except ApiError as error:
        if error.is_retryable or error.code == 401:
            raise
        log.debug("cannot ask the server for our rights: %s", error)
        return False
    pairs = zip(unsure, found, strict=True)
    if missing := [right for right, it in pairs if not rights.is_granted(it)]:
        raise rights.forbidden(missing, namespace)
    return True
