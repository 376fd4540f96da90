"""Repeats the decisions of a run from its recorded events.

``python -m tfmesos.runs.replay DIRECTORY`` prints what happened and what was decided.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import SpecError
from ..launcher.deciders import Beginning, Deciders
from ..sanitize import plain
from .event_json import from_json
from .run_files import RunDirectory

Step = tuple[float, Any, Sequence[Any]]  # seconds since the beginning, the event, the decisions


def replay(run: RunDirectory) -> Iterator[Step]:
    """Raises ValueError if the record is incomplete."""
    entries = run.entries()
    beginning = from_json(next(entries, {}).get("beginning"))
    if not isinstance(beginning, Beginning):
        raise ValueError(f"{run.events_file} does not say how the run began")
    deciders = Deciders(beginning.lifecycle(), beginning.engine())
    for entry in entries:
        if "left_out" in entry:
            raise ValueError(f"{entry['left_out']} events were not recorded")
        if "event" in entry:
            event, now = from_json(entry["event"]), float(entry["at"])
            yield now - beginning.at, event, deciders.handle(event, now)


def main(argv: Sequence[str]) -> int:
    if len(argv) != 1:
        print("usage: python -m tfmesos.runs.replay DIRECTORY", file=sys.stderr)
        return SpecError.exit_code
    try:
        for at, event, decisions in replay(RunDirectory(Path(argv[0]))):
            print(plain(f"{at:9.3f} s  {event}"))
            for decision in decisions:
                print(plain(f"             -> {decision}"))
    except (OSError, ValueError, TypeError) as error:
        print(f"tfmesos.runs.replay: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
