"""The secrets of a runner's task, and the Kerberos ticket obtained with them."""

from __future__ import annotations

from .secret_files import Secrets
from .workspace import TASK_DIR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...shared.process import Ending
    from ..loop import Loop
    from ..process.guard import Guard
    from ..runner_settings import Settings
    from .ticket import Ticket


class RunnerSecrets(Secrets):
    def __init__(
        self,
        loop: Loop,
        settings: Settings,
        get_guard: Callable[[], Guard],
        say: Callable[[str], None],
    ) -> None:
        super().__init__({})
        self._loop = loop
        self._settings = settings
        self._say = say
        self._get_guard = get_guard
        self._ticket: Ticket | None = None

    def bring(self, is_stopped: Callable[[], bool]) -> Ending | None:
        """Get all secrets that the settings name; returns why not, if that fails."""
        self._told = self._settings.secrets
        workspace = self._settings.env[TASK_DIR]
        problem = self.keep(workspace, lambda place: self._get_guard().remove_later(place))
        if problem or not self.principal:
            return problem
        from .ticket import Ticket  # few tasks need one

        place, env = self.directory, self.environment
        self._ticket = Ticket(self._loop, self._get_guard(), self.principal, place, env, self._say)
        return self._ticket.get(is_stopped)

    def remove(self) -> None:
        if self._ticket is not None:
            self._ticket.stop()
        super().remove()
