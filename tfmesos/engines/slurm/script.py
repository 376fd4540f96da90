"""The script of a batch job: it starts the steps, notes which ended badly, and ends after them.

Nothing here does I/O. The first secrets of the tasks come to each step by its standard input, from
here-documents: Slurm shows a script to its owner and to root only, and no argument or environment
of a process that others see holds them.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from math import ceil

from ...errors import CANNOT_REACH_LAUNCHER, HANDSHAKE_FAILED, LAUNCHER_LOST
from .actions import Step, step_name
from .past_work import Told

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LINGER = 60.0  # seconds that a job without steps waits at least for one more
GO = ";go"  # ends the comment of a job whose script need not wait any more
_LOOK_EVERY = 2  # seconds
_ANSWER_WITHIN = 6  # seconds for a launcher to read a note and act on it
_GONE = "Invalid job id|CANCELLED|COMPLETED|FAILED|PREEMPTED|TIMEOUT"  # in words of squeue
_TABLE = "TFMESOS_TABLE"
# What the Python of each task does first: it finds the line of its task. The secret is in no
# environment that /proc shows.
TAKE_LINE = """\
import os
for line in open(0,'rb').read().splitlines():
 number,secret,settings=line.split(b' ',2)
 if number==os.environb[b'SLURM_PROCID']:
  os.environb.update({b'TFMESOS_SECRET':secret,b'TFMESOS_RUNNER':settings})
os.open(os.devnull,0)
"""
_NOBODY_THERE = "|".join(
    str(code) for code in (CANNOT_REACH_LAUNCHER, HANDSHAKE_FAILED, LAUNCHER_LOST)
)

_BEGIN = """\
#!/bin/sh
PATH={path}; export PATH
# Files without names, of which nothing is left however this ends: 3 notes, 4 "released", 5 errors.
file=$(mktemp) && exec 3>"$file" && rm "$file" || exit 1
file=$(mktemp) && exec 4>"$file" && rm "$file" || exit 1
notes=/proc/self/fd/3
released=
trap 'released=1; echo 1 >&4' USR1
until=$(($(date +%s) + {survive}))
say() {{ # what else is to be in the comment of the job, behind who holds the run
    begin=$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%k 2>/dev/null | sed '1!d;s/;.*//')
    case $begin in '{comment}'*) ;; *) begin='{comment}' ;; esac
    scontrol update JobId="$SLURM_JOB_ID" Comment="$begin$1"
}}
has_steps() {{
    squeue --noheader --steps --jobs="$SLURM_JOB_ID" --format=%i 2>/dev/null | grep -q '[.][0-9]'
}}
is_gone() {{ # a controller that was killed may have forgotten the job, or have it ended already
    squeue --noheader --states=all --jobs="$SLURM_JOB_ID" --format=%T 2>&1 | grep -Eq '{gone}'
}}
run() {{ # the name of a step, and what starts it; its table comes by standard input
    name=$1; shift
    table=$(cat)
    file=$(mktemp) && exec 5>"$file" && rm "$file" || return 1
    errors=/proc/self/fd/5
    while :; do
        printf '%s\n' "$table" | "$@" >/dev/null 2>"$errors"
        code=$?
        [ "$code" = {unreached} ] && [ "$(date +%s)" -lt "$until" ] || break
        [ ! -s /proc/self/fd/4 ] || break
        # A launcher that is there reads this and starts other steps; without one, try again.
        say "$(head -c 3000 "$notes")$(note)"
        sleep {answer_within}
        has_steps && return 1
        say "$(head -c 4000 "$notes")"
    done
    [ "$code" = 0 ] && return
    note >>"$notes"
    case $code in {nobody_there}) ;; *) say "$(head -c 4000 "$notes")" ;; esac
    return "$code"
}}
note() {{
    words=$(grep -v '^srun: ' "$errors" | tail -n 1 | tr ';|' ',/' | cut -c 1-300)
    [ -n "$words" ] || words=$(tail -n 1 "$errors" | tr ';|' ',/' | cut -c 1-300)
    printf ';%s %s %s' "$name" "$code" "$words"
}}
"""
_HOLD = """\
held=0
until squeue --noheader --jobs="$SLURM_JOB_ID" --format=%k 2>/dev/null | grep -q '{go}$'; do
    [ -z "$released" ] && [ "$held" -lt {hold} ] || exit 0
    sleep {every} & wait $!
    held=$((held + {every}))
done
"""
_END = """\
worst=0
for pid in $pids; do
    while :; do
        wait "$pid"
        code=$?
        [ "$code" = 138 ] && kill -0 "$pid" 2>/dev/null || break
    done
    [ "$code" -gt "$worst" ] && worst=$code
    case $code in {nobody_there}) released=1 ;; esac
done
empty=0
while [ -z "$released" ] && [ "$empty" -lt {linger} ]; do
    sleep {every} & wait $!
    empty=$((empty + {every}))
    if has_steps; then empty=0; elif is_gone; then break; fi
done
exit "$worst"
"""


def script(
    steps: Sequence[Step],
    arguments: Mapping[str, Sequence[str]],  # of srun, by the name of the step
    programs: Mapping[str, Sequence[str]],  # likewise: what it starts for each task
    told: Told,
    comment: str,
    survive: float = 0.0,
    hold: float | None = None,
) -> str:
    """*survive*: seconds that tasks, and a job without any, wait for another launcher.

    With *hold* it starts nothing until its comment says so, and ends after *hold* plus *survive*
    seconds: by then no launcher is left that could write it.
    """
    begin = _BEGIN.format(
        path=PATH,
        nobody_there=_NOBODY_THERE,
        unreached=CANNOT_REACH_LAUNCHER,
        comment=comment,
        survive=ceil(survive),
        answer_within=_ANSWER_WITHIN,
        gone=_GONE,
    )
    end = _END.format(
        nobody_there=_NOBODY_THERE, linger=ceil(max(LINGER, survive)), every=_LOOK_EVERY
    )
    if hold is not None:
        seconds = ceil(hold + max(LINGER, survive))
        begin += _HOLD.format(go=GO, hold=seconds, every=_LOOK_EVERY)
    return begin + "".join(_step(step, arguments, programs, told) for step in steps) + end


def _step(
    step: Step,
    arguments: Mapping[str, Sequence[str]],
    programs: Mapping[str, Sequence[str]],
    told: Told,
) -> str:
    name = step_name(step)
    words = ["run", name, "srun", *arguments[name], *programs[name]]
    line = f"{shlex.join(words)} <<'{_TABLE}' &\n{table(step, told)}{_TABLE}\n"
    return line + 'pids="$pids $!"\n'


def table(step: Step, told: Told) -> str:
    """What the tasks of a step receive: each finds its line by its number."""
    lines = []
    for number, seat in enumerate(step.seats):
        settings, secret = told[seat.task_id]
        lines.append(f"{number} {secret.reveal()} {settings}\n")
    return "".join(lines)
