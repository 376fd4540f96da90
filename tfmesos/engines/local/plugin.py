"""This machine, as the launcher finds it among the engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..api import Context, EngineDecider, Plugin, Setup


class LocalPlugin(Plugin):
    def new_decider(self, jitter: Callable[[], float], rules: Mapping[str, Any]) -> EngineDecider:
        from .engine import LocalEngine

        return LocalEngine(jitter, **rules)

    def new_setup(self, context: Context) -> Setup:
        from .setup import LocalSetup

        return LocalSetup(context)


PLUGIN = LocalPlugin()
