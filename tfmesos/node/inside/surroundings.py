"""The environment of a command that runs alongside that of its task."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..loop import Loop
    from ..process.guard import Guard
    from ..process.output import Output
    from ..runner_settings import Settings


class Surroundings:
    def __init__(
        self,
        loop: Loop,
        settings: Settings,
        get_guard: Callable[[], Guard],
        env: Mapping[str, str],
        cwd: str,
        host: str,
        output: Output,
    ) -> None:
        """*host* is the address of this node, as the other tasks know it."""
        self.loop = loop
        self.settings = settings
        self.get_guard = get_guard
        self.env = env
        self.cwd = cwd
        self.host = host
        self.output = output
