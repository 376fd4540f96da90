"""Work that earlier launchers were about to do on Slurm, and perhaps did not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ...config.secret import Secret
from . import actions as do
from . import events as happened
from .actions import Step, step_name

Told = Mapping[str, tuple[str, Secret]]  # by task id: the settings of its stub, and its secret
Repeatable = do.LetGo | do.CancelJob | do.ReleaseJob | do.CancelStep


class PastWork:
    """*submits* and *starts* have no answer in the record; each comes with what was reported."""

    def __init__(self) -> None:
        self.is_found = False  # did a launcher find Slurm?
        self.submits: dict[str, tuple[do.Submit, Told]] = {}  # by key
        self.starts: dict[str, tuple[do.StartStep, Told]] = {}  # by the name of the step
        self._repeatable: dict[Repeatable, None] = {}

    def decided(self, action: Any, told: Told) -> None:
        match action:
            case do.Submit(key):
                self.submits[key] = action, told
            case do.StartStep(_, step):
                self.starts[step_name(step)] = action, told
            case do.LetGo() | do.CancelJob() | do.ReleaseJob() | do.CancelStep():
                self._repeatable[action] = None

    def happened(self, event: Any) -> None:
        match event:
            case happened.SlurmFound():
                self.is_found = True
            case happened.Submitted(key) | happened.NotSubmitted(key):
                self.submits.pop(key, None)
            case happened.StepEnded(_, name):
                self.starts.pop(name, None)

    def to_repeat_in(self, jobs: Collection[str]) -> list[Repeatable]:
        """Work with these jobs, or in them, that may be done twice."""
        return [action for action in self._repeatable if action.job_id in jobs]


def steps_in(action: Any) -> tuple[Step, ...]:
    """The steps that *action* starts."""
    match action:
        case do.Submit(steps=steps):
            return steps
        case do.StartStep(step=step):
            return (step,)
    return ()
