"""The plugin of Mesos, by which the launcher finds this engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..api import Context, EngineDecider, Plugin, Setup

if TYPE_CHECKING:
    from ...config.launch_config import LaunchConfig


class MesosPlugin(Plugin):
    def check_master(self, master: str) -> None:
        from .api.masters import parse

        parse(master)

    def check(self, config: LaunchConfig) -> None:
        from .runner_command import check_room

        check_room(config)

    def rules(self, config: LaunchConfig) -> dict[str, Any]:
        return {"stop_grace": config.kill_grace}

    def new_decider(self, jitter: Callable[[], float], rules: Mapping[str, Any]) -> EngineDecider:
        from .engine import MesosEngine

        return MesosEngine(jitter, **rules)

    def new_setup(self, context: Context) -> Setup:
        from .setup import MesosSetup

        return MesosSetup(context)


PLUGIN = MesosPlugin()
