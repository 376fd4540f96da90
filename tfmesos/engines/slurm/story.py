"""What ``-v`` shows about Slurm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .actions import StartStep, Submit
from .events import StepEnded, Submitted


class SlurmStory:
    name = "Slurm"

    def launched(self, action: Any) -> Mapping[str, str]:
        steps = action.steps if isinstance(action, Submit) else ()
        steps = (action.step,) if isinstance(action, StartStep) else steps
        return {seat.task_id: seat.task.name for step in steps for seat in step.seats}

    def news(self, event: Any) -> str:
        return f"submitted as job {event.job_id}" if isinstance(event, Submitted) else ""

    def ended(self, event: Any) -> tuple[str, str] | None:
        if not isinstance(event, StepEnded):
            return None
        return event.name, f"had a step that ended with {event.code}"
