"""Parses the output of Slurm's commands. No I/O."""

from __future__ import annotations

import pwd
import re
from collections.abc import Mapping

from ....record import Record
from ....text import shortened
from .batch_jobs import Component, Job
from .hostlist import expand
from .job_states import CANCELLED, RUNNING

NODE_FORMAT = "%N|%o|%f"
JOB_FORMAT = "%i|%T|%N|%S|%e|%k|%r"
QUEUE_FORMAT = "%i|%Q|%P"
STEP_FORMAT = "%i|%j"
MARK = "tfmesos"  # begins the comment of our jobs; what steps ended with follows

_BY = f"{CANCELLED} by "
_AWAY = re.compile(
    r"Unable to contact slurm controller|Connection refused|[Ss]ocket timed out|Zero Bytes|"
    r"Transport endpoint|Connection timed out|slurm_receive_msg|backup controller|"
    r"No route to host|Resource temporarily unavailable|Slurm temporarily"
)
_MUNGE = re.compile(r"[Mm]unge|authentication|credential", re.IGNORECASE)
_TOO_MUCH = re.compile(
    r"not available|violates|More processors|Node count|Memory required|emory specification|"
    r"can ?not be satisfied|Requested nodes are busy|Job size|[Ll]imit"
)
_GPUS = re.compile(r"\bgpu(?::[^:,()]+)?:(\d+)")
_STARTS = re.compile(r"to start at (\d+) ")
_HEAD = re.compile(r"^(?:\S*/)?(sbatch|srun|squeue|sinfo|scontrol|scancel): (error: |fatal: )?")


class KnownNode(Record):
    name: str
    address: str = ""
    features: tuple[str, ...] = ()


def nodes(text: str) -> tuple[KnownNode, ...]:
    """What ``sinfo -N`` lists; a node of several partitions is listed once for each."""
    found = {}
    for line in text.splitlines():
        name, address, features = [*line.split("|"), "", ""][:3]
        listed = tuple(features.split(",")) if features not in ("", "(null)") else ()
        found[name] = KnownNode(name, address or name, listed)
    return tuple(found.values())


def jobs(text: str, wall: float, places: Mapping[str, int]) -> tuple[Job, ...]:
    """The jobs that squeue lists in JOB_FORMAT; *wall* is the current time."""
    return tuple(_job(line, wall, places) for line in text.splitlines() if line.count("|") >= 6)


def _job(line: str, wall: float, places: Mapping[str, int]) -> Job:
    number, state, hosts, start, end, comment, reason = line.split("|", 6)
    job_id, _, group = number.partition("+")
    return Job(
        job_id,
        int(group or 0),
        state,
        reason,
        expand(hosts),
        _seconds(start, wall),
        _seconds(end, wall),
        places.get(number, 0),
        ended_steps(comment),
    )


def _seconds(time: str, wall: float) -> float | None:
    return float(time) - wall if time.isdigit() else None


def drained(text: str) -> tuple[str, ...]:
    """The drained nodes; a node of several partitions is listed once for each."""
    rows = (line.partition(" ") for line in text.splitlines())
    return tuple(dict.fromkeys(name for name, _, state in rows if state.startswith("drain")))


def places(text: str) -> dict[str, int]:
    """The place of each waiting job among those of its partition, by priority."""
    rows = [line.split("|") for line in text.splitlines() if line.count("|") == 2]
    rows = [row for row in rows if row[1].isdigit()]
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    for number, _, partition in sorted(rows, key=lambda row: -int(row[1])):
        counts[partition] = found[number] = counts.get(partition, 0) + 1
    return found


def comments(text: str) -> dict[str, str]:
    """The comment of each job, by its number."""
    rows = (line.split("|", 1) for line in text.splitlines() if "|" in line)
    return {number.partition("+")[0]: comment for number, comment in rows}


def comments_of_jobs(text: str) -> dict[str, str]:
    """Likewise, from output in JOB_FORMAT."""
    rows = (line.split("|", 6) for line in text.splitlines() if line.count("|") >= 6)
    return {row[0].partition("+")[0]: row[5] for row in rows}


def starts_in(text: str, wall: float) -> float | None:
    """When ``sbatch --test-only`` expects a job to start; None if it does not say so."""
    found = _STARTS.search(text)
    return float(found[1]) - wall if found else None


def ended_steps(comment: str) -> tuple[tuple[str, int, str], ...]:
    """What the script has noted of steps that ended badly: name, code and last words."""
    if not comment.startswith(MARK):
        return ()
    notes = [note.split(" ", 2) for note in comment.split(";")[1:]]
    return tuple(
        (name, int(code), " ".join(words).strip())
        for name, code, *words in (note for note in notes if len(note) > 1)
        if code.isdigit()
    )


def step_id(text: str, name: str) -> str:
    """The id of the step of this name, in what ``squeue --steps`` lists."""
    rows = (line.split("|", 1) for line in text.splitlines() if "|" in line)
    return next((number for number, called in rows if called == name), "")


def canceller(text: str) -> str:
    """Of what sacct lists, the user who cancelled a job; empty if it names none."""
    ids = [line.removeprefix(_BY).strip() for line in text.splitlines() if line.startswith(_BY)]
    return _user(ids[0]) if ids else ""


def _user(user_id: str) -> str:
    try:
        return pwd.getpwuid(int(user_id)).pw_name
    except (KeyError, ValueError, OverflowError):
        return f"user {user_id}"


def fields(text: str) -> dict[str, str]:
    """The fields of ``scontrol --oneliner show job``."""
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def components(text: str) -> tuple[Component, ...]:
    """The components of a running job, from ``scontrol --oneliner --details show job``."""
    shown = [fields(line) for line in text.splitlines() if line.startswith("JobId=")]
    return tuple(_component(one) for one in shown if one.get("JobState") in RUNNING)


def _component(shown: Mapping[str, str]) -> Component:
    cpus, gpus = shown.get("NumCPUs", ""), shown.get("JOB_GRES")
    return Component(
        expand(shown.get("NodeList", "")),
        int(cpus) if cpus.isdigit() else None,
        None if gpus is None else sum(map(int, _GPUS.findall(gpus))),
    )


# Complaints


def is_away(error: str) -> bool:
    """Is the controller, or munge, not answering? It may answer in a moment."""
    return bool(_AWAY.search(error) or _MUNGE.search(error))


def is_unknown_job(error: str) -> bool:
    return "Invalid job id specified" in error


def is_too_much(error: str) -> bool:
    """Does Slurm refuse the size of a job, rather than its options?"""
    return bool(_TOO_MUCH.search(error))


def complaint(error: str) -> str:
    """The last line of an error, without the name of the command."""
    lines = [line for line in error.splitlines() if line.strip()]
    lines = [line for line in lines if 'Try "' not in line] or lines
    last = lines[-1] if lines else "it gave no reason"
    text = _HEAD.sub("", last).removeprefix("Batch job submission failed: ")
    if _MUNGE.search(error):
        return f"munge refuses: {shortened(text)}"
    return shortened(text)


def first_line(text: str) -> str:
    return shortened(text.partition("\n")[0])


def last_words(error: str) -> str:
    """Those of a step, rather than of srun."""
    lines = [line for line in error.splitlines() if line.strip()]
    own = [line for line in lines if not line.startswith("srun: ")] or lines
    return own[-1][:300] if own else ""


def job_number(out: str) -> str:
    """What ``sbatch --parsable`` prints: the number, and perhaps the cluster behind it."""
    number = out.strip().partition(";")[0]
    return number if number.isdigit() else ""
