"""The plugin of this machine, by which the launcher finds this engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ..api import Context, EngineDecider, Plugin, Setup

if TYPE_CHECKING:
    from ...config.launch_config import LaunchConfig


class LocalPlugin(Plugin):
    def head_start(self, config: LaunchConfig) -> AbstractContextManager[None]:
        from .parent_process import started_ahead

        return started_ahead(config)

    def new_decider(self, jitter: Callable[[], float], rules: Mapping[str, Any]) -> EngineDecider:
        from .engine import LocalEngine

        return LocalEngine(jitter, **rules)

    def new_setup(self, context: Context) -> Setup:
        from .setup import LocalSetup

        return LocalSetup(context)


PLUGIN = LocalPlugin()
