"""Carries out the actions of the decider with Slurm's commands."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from math import inf
from typing import Any

from ...config.job import Job, Task
from ...config.launch_config import LaunchConfig
from ...config.secret import Secret
from ...core.outcome import Ending
from ...errors import EngineError, Refused
from ..api import Context, Emit, Expect
from . import actions as do
from . import events as happened
from . import request
from .actions import SlurmAction, Step, step_name
from .api import answers, batch_jobs
from .api.answers import KnownNode
from .api.commands import RETRY_EVERY, Answer, Commands
from .api.job_states import CANCELLED
from .engine import SlurmEngine
from .holder import Holding, mark_in
from .job_ends import SETTLE_WITHIN, JobEnds
from .node_choice import obstacle
from .past_work import PastWork, Told, steps_in
from .script import GO, script, table
from .trial import Trial

log = logging.getLogger(__name__)

SUBMIT_WITHIN = 60.0  # seconds for a controller that does not answer to take a job
PLACES_FOR = 20.0  # seconds for which a place in the queue is assumed to stay the same


class Surroundings:
    """What the setup has found out about Slurm."""

    def __init__(
        self,
        commands: Commands,
        nodes: Sequence[KnownNode],
        program_of: Callable[[Job, LaunchConfig], list[str]],
        check_images: Callable[[], Awaitable[None]],
        allocated: happened.SlurmFound,
    ) -> None:
        """*program_of* returns what srun starts for each task of a job.

        *check_images* raises SpecError if images cannot be run here.
        """
        self.commands = commands
        self.nodes = nodes
        self.program_of = program_of
        self.check_images = check_images
        self.allocated = allocated


class SlurmDriver:
    def __init__(
        self,
        context: Context,
        around: Surroundings,
        engine: SlurmEngine,
        emit: Emit,
        expect: Expect,
    ) -> None:
        self._config = context.config
        self._run_id = context.run_id
        self._is_successor = context.keys.epoch > 1  # of a launcher that had the run before
        self._say = context.say
        self._around = around
        self._commands = around.commands
        self._trial = Trial(around.commands, context.run_id, around.nodes)
        self._holding = Holding(around.commands, context.keys.epoch, context.give_away)
        self._job_ends = JobEnds(context, around.commands, self._holding)
        self._engine = engine
        self._emit = emit
        self._expect = expect
        self._work: set[asyncio.Task[Any]] = set()
        self._step_work: set[asyncio.Task[Any]] = set()  # those of it that last as long as a step
        self._unanswered: set[str] = set()  # keys of jobs that Slurm may have accepted
        self._jobs: dict[str, None] = {}  # ours that may run
        self._steps: dict[str, asyncio.subprocess.Process] = {}  # that we started, by their names
        self._last_words: dict[str, str] = {}  # of steps, by their names
        self._step_of: dict[str, str] = {}  # by task id
        self._past = PastWork()
        self._places: Mapping[str, int] = {}  # of the jobs that wait, by their numbers
        self._places_until = 0.0  # they are listed again then
        self._orphans: dict[str, str] = {}  # steps of earlier launchers -> their job

    async def run(self) -> None:
        if not self._past.is_found:
            self._emit(self._around.allocated)
        if self._is_successor:
            await self._go_on()
        await asyncio.Event().wait()

    async def look(self, config: LaunchConfig) -> None:
        """Raises SpecError or ResourcesError if Slurm could never start such a job."""
        if config.images:
            await self._around.check_images()
        if not config.slurm.allocation:
            await self._trial.refuse_too_large(config)

    def change(self, config: LaunchConfig) -> None:
        """The next generation begins: what is launched from now on is launched so."""
        self._config = config
        self._job_ends.config = config

    def carry_out(self, action: SlurmAction) -> None:
        match action:
            case do.Submit(steps=steps):
                self._do(self._submit(action, self._told(steps)))
            case do.LetGo(job_id, key):
                self._do(self._let_go(job_id, request.comment(self._run_id, key)))
            case do.StartStep(step=step):
                self._do_step(self._start_step(action, self._told([step])))
            case do.Look(job_ids, pending):
                self._do(self._look(job_ids, pending))
            case do.LookAtNodes(nodes):
                self._do(self._look_at_nodes(nodes))
            case do.TryMore(tasks):
                self._do(self._try_more(tasks))
            case do.CancelJob(job_id, reason):
                log.debug("cancelling job %s: %s", job_id, reason)
                self._do(self._job_ends.cancel(job_id))
            case do.ReleaseJob(job_id):
                self._do(self._job_ends.tell(job_id))
            case do.CancelStep(job_id, name):
                self._do(self._cancel_step(job_id, name))

    def _do(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._done)
        return task

    def _do_step(self, work: Coroutine[Any, Any, Any]) -> None:
        task = self._do(work)
        self._step_work.add(task)
        task.add_done_callback(self._step_work.discard)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._work.discard(task)
        if not task.cancelled() and (error := task.exception()):
            trouble = EngineError(f"cannot use Slurm's commands: {error}")
            self._emit(happened.SlurmGaveUp(trouble))

    # Taking over

    def recall(self, event: Any, actions: Sequence[Any]) -> None:
        """Expect the runners again, and do what was decided but not done."""
        self._past.happened(event)
        match event:
            case happened.Submitted(_, job_id):
                self._jobs[job_id] = None
            case happened.JobsSeen(jobs):
                self._note_last_words(jobs)
            case happened.StepEnded(_, name, _, text):
                self._last_words[name] = text
        for action in actions:
            self._past.decided(action, self._told(steps_in(action)))

    async def _go_on(self) -> None:
        """Do what was decided before and may not have been done; then query the jobs."""
        for submit, told in self._past.submits.values():
            self._do(self._submit_again(submit, told))
        for start, told in self._past.starts.values():
            if self._engine.awaits(step_name(start.step)):
                self._do_step(self._start_again(start, told))
        for action in self._past.to_repeat_in((await self._holding.comments(inf)).keys()):
            self.carry_out(action)
        await self._look(self._engine.job_ids, True)

    async def _submit_again(self, submit: do.Submit, told: Told) -> None:
        """Unless it was submitted; a command of the last launcher may still be running."""
        mark = request.comment(self._run_id, submit.key)
        end = time.monotonic() + SUBMIT_WITHIN
        number = await self._holding.job_with(mark, end)
        if not number:
            await asyncio.sleep(SETTLE_WITHIN)
            number = await self._holding.job_with(mark, end)
        if number:
            self._jobs[number] = None
            self._emit(happened.Submitted(submit.key, number))
        elif self._engine.is_wanted(submit.key):
            await self._submit(submit, told)

    async def _start_again(self, start: do.StartStep, told: Told) -> None:
        name = step_name(start.step)
        if await self._step_id(start.job_id, name):
            self._orphans[name] = start.job_id
        elif self._engine.awaits(name):
            await self._start_step(start, told)

    async def _find_ended_steps(self) -> None:
        """Nobody waits for the commands of an earlier launcher."""
        for name, job_id in list(self._orphans.items()):
            if not self._engine.awaits(name):
                del self._orphans[name]
            elif not await self._step_id(job_id, name):
                del self._orphans[name]
                self._emit(happened.StepEnded(job_id, name, 0))

    # Submitting

    async def _submit(self, submit: do.Submit, told: Told) -> None:
        for step in submit.steps:
            if reason := obstacle(step.seats[0].task.job, self._around.nodes):
                return self._emit(happened.NotSubmitted(submit.key, reason))
        config, groups = self._config, 1 + max(step.group for step in submit.steps)
        text = script(
            submit.steps,
            {step_name(s): request.step_arguments(s, groups, config) for s in submit.steps},
            {step_name(s): self._program(s) for s in submit.steps},
            told,
            request.comment(self._run_id, submit.key),
            config.survive or 0.0,
            (config.checkpoint_before or config.kill_grace) if submit.is_held else None,
        )
        nodes = self._around.nodes
        words = request.submission(config, self._run_id, submit.key, submit.steps, nodes)
        self._unanswered.add(submit.key)
        answer = await self._submitted(words, text, request.comment(self._run_id, submit.key))
        number = answers.job_number(answer.out)
        if number or not answers.is_away(answer.err):
            self._unanswered.discard(submit.key)
        if number:
            self._jobs[number] = None
            self._emit(happened.Submitted(submit.key, number))
        else:
            self._refused(submit, answer.err)

    async def _submitted(self, words: Sequence[str], text: str, mark: str) -> Answer:
        """A controller that does not answer may have accepted the job nevertheless."""
        end = time.monotonic() + SUBMIT_WITHIN
        while True:
            answer = await self._commands.run("sbatch", *words, given=text)
            if not answer.code or not answers.is_away(answer.err) or time.monotonic() > end:
                return answer
            self._emit(happened.SlurmSought(f"Slurm: {answers.complaint(answer.err)}"))
            await asyncio.sleep(RETRY_EVERY)
            with suppress(EngineError):
                if number := await self._holding.job_with(mark, end):
                    return Answer(0, number, "")

    async def _let_go(self, job_id: str, mark: str) -> None:
        """Unless it was let go; a controller that does not answer is asked again."""
        end = time.monotonic() + SUBMIT_WITHIN
        words = ("update", f"JobId={job_id}", f"Comment={self._holding.named(mark)}{GO}")
        while time.monotonic() < end:
            async with self._holding.writing:
                found = await self._commands.run("squeue", "--noheader", f"--jobs={job_id}", "-o%k")
                waits = [line for line in found.out.splitlines() if ";" not in line]
                if not answers.is_away(found.err) and mark not in map(mark_in, waits):
                    return  # a query will show what became of it
                if not (await self._commands.run("scontrol", *words)).code:
                    return
            await asyncio.sleep(RETRY_EVERY)
        self._emit(happened.SlurmGaveUp(EngineError(f"Slurm does not let job {job_id} begin")))

    def _refused(self, submit: do.Submit, error: str) -> None:
        given = " ".join(self._config.slurm.options)
        text = f"Slurm refuses the job: {answers.complaint(error)}"
        text += f" (asked for with {given})" if given else ""
        if answers.is_too_much(error) or submit.is_held:
            return self._emit(happened.NotSubmitted(submit.key, text))
        refused = EngineError(text) if answers.is_away(error) else Refused(text)
        self._emit(happened.SlurmGaveUp(refused))

    def _told(self, steps: Sequence[Step]) -> dict[str, tuple[str, Secret]]:
        told = {}
        for step in steps:
            for seat in step.seats:
                self._step_of[seat.task_id] = step_name(step)
                told[seat.task_id] = self._expect(seat.task_id, seat.task, seat.port)
        return told

    def _program(self, step: Step) -> list[str]:
        return self._around.program_of(step.seats[0].task.job, self._config)

    # Steps in a running job

    async def _start_step(self, start: do.StartStep, told: Told) -> None:
        step, name = start.step, step_name(start.step)
        given = bool(self._config.slurm.allocation)
        words = request.later_step_arguments(
            start.job_id, step, start.groups, self._config, is_given=given
        )
        process = await self._commands.start(
            "srun", [*words, *self._program(step)], table(step, told)
        )
        self._steps[name] = process
        try:
            _, err = await process.communicate()
        finally:
            del self._steps[name]
        text = self._last_words[name] = answers.last_words(err.decode(errors="replace"))
        self._emit(happened.StepEnded(start.job_id, name, process.returncode or 0, text))

    async def _cancel_step(self, job_id: str, name: str) -> None:
        if not job_id:
            return
        if found := await self._step_id(job_id, name):
            await self._commands.run("scancel", found)
        elif process := self._steps.get(name):  # it waits for room
            process.terminate()

    async def _step_id(self, job_id: str, name: str) -> str:
        words = ("--noheader", "--steps", f"--jobs={job_id}", f"--format={answers.STEP_FORMAT}")
        return answers.step_id((await self._commands.run("squeue", *words)).out, name)

    # Looking

    async def _look(self, job_ids: Sequence[str], pending: bool) -> None:
        listed = [await self._listed(job_id) for job_id in job_ids]
        errors = [answer.err for answer in listed if answer.code]
        failed = [error for error in errors if not answers.is_unknown_job(error)]
        if failed:
            return self._emit(happened.JobsUnseen(f"Slurm: {answers.complaint(failed[0])}"))
        text = "\n".join(one.out for one in listed)
        if not await self._holding.look(answers.comments_of_jobs(text)):
            return
        places = await self._places_of(job_ids) if pending else {}
        found = await self._with_cancellers(answers.jobs(text, time.time(), places))
        self._note_last_words(found)
        known = {job.job_id for job in found}
        self._emit(happened.JobsSeen(found, tuple(one for one in job_ids if one not in known)))
        await self._find_ended_steps()

    async def _with_cancellers(self, jobs: Sequence[batch_jobs.Job]) -> tuple[batch_jobs.Job, ...]:
        cancelled = {job.job_id for job in jobs if job.state == CANCELLED}
        users = {job_id: await self._canceller(job_id) for job_id in cancelled}
        return tuple(job.replace(cancelled_by=users.get(job.job_id, "")) for job in jobs)

    async def _canceller(self, job_id: str) -> str:
        """The user who cancelled it; empty if there is no accounting, or it cannot say so."""
        words = ("--noheader", "--parsable2", "--allocations", f"--jobs={job_id}")
        for _ in range(3 if self._commands.has("sacct") else 0):  # it learns of an end later
            told = await self._commands.run("sacct", *words, "--format=State", within=5.0)
            user = answers.canceller(told.out)
            if told.code or user:
                return user
            await asyncio.sleep(RETRY_EVERY)
        return ""

    def _note_last_words(self, jobs: Sequence[batch_jobs.Job]) -> None:
        for job in jobs:
            for name, _, text in job.ended_steps:
                self._last_words[name] = text

    async def _listed(self, job_id: str) -> Answer:
        words = ("--noheader", "--all", "--states=all", f"--jobs={job_id}")
        return await self._commands.run("squeue", *words, f"--format={answers.JOB_FORMAT}")

    async def _look_at_nodes(self, nodes: Sequence[str]) -> None:
        words = ("--noheader", "--Node", f"--nodes={','.join(nodes)}", "--format=%N %T")
        answer = await self._commands.run("sinfo", *words)
        self._emit(happened.NodesSeen(answers.drained(answer.out)))

    async def _try_more(self, tasks: Sequence[Task]) -> None:
        optional = next(task for task in tasks if task.is_optional)
        self._emit(happened.RoomTried(await self._trial.has_room(optional, self._config)))

    async def _places_of(self, job_ids: Sequence[str]) -> Mapping[str, int]:
        """Their places in the queue. The whole queue is listed, so this is not done every time."""
        now = time.monotonic()
        known = {number.partition("+")[0] for number in self._places}
        if now >= self._places_until or not known.intersection(job_ids):
            words = ("--noheader", "--states=PENDING", f"--format={answers.QUEUE_FORMAT}")
            self._places = answers.places((await self._commands.run("squeue", *words)).out)
            self._places_until = now + PLACES_FOR
        return self._places

    # Leaving

    async def explain(self, ending: Ending) -> Ending:
        """*ending* with the last words of its step, if its runner reported nothing."""
        words = self._last_words.get(self._step_of.get(ending.task_id, ""), "")
        if not words or ending.is_reported:
            return ending
        return ending.replace(tail=(words,))

    async def read(self, task_id: str, file: str) -> str:
        """Tasks leave nothing behind on their nodes."""
        return ""

    async def leave(self, within: float) -> None:
        """Let jobs end if all their tasks have ended, and cancel the others."""
        loop = asyncio.get_running_loop()
        end = loop.time() + within
        await self._drop(self._work - self._step_work, within)  # perhaps it submits a job
        end = max(end, loop.time() + within / 2)
        await self._end_steps(max(end - loop.time(), 1.0))
        for job_id in list(self._jobs):
            await self._job_ends.by(end, job_id, is_over=self._engine.is_over(job_id))
        if self._is_successor or self._unanswered:
            await self._job_ends.of_unknown(self._jobs, self._unanswered, end)
        await self._drop(self._work, 0.0)

    async def _drop(self, work: Iterable[asyncio.Task[Any]], within: float) -> None:
        """Commands that have not ended by then are killed, and waited for."""
        tasks = list(work)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=within)
            for task in late:
                task.cancel()
            await asyncio.wait(tasks)

    async def _end_steps(self, within: float) -> None:
        """Ends the steps that we started in a job that is not ours."""
        if not self._config.slurm.allocation:
            return
        for process in self._steps.values():
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        working = [task for task in self._work if not task.done()]
        if working:
            await asyncio.wait(working, timeout=within)
