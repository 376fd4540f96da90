"""python -m bench [NAME...]: measure side by side, print tables, keep results.json and plots."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench import (
    in_graph,
    kubernetes,
    mesos,
    output,
    plots,
    pods,
    programs,
    scale,
    ship,
    slurm,
    startup,
    takeover,
    teardown,
    thousand,
)
from bench.timing import Goal, Result, goals_table


class Benchmark(NamedTuple):
    run: Callable[..., Result]
    smallest: dict[str, object]


BENCHMARKS = {
    "start-up": Benchmark(startup.run, {"sizes": [1]}),
    "tensorflow": Benchmark(startup.run_tensorflow, {"sizes": [1], "module": "json"}),
    "in-graph": Benchmark(in_graph.run, {"names": ["by hand"]}),  # plus.py has a test of its own
    "scale": Benchmark(scale.run, {"sizes": [10]}),
    "takeover": Benchmark(takeover.run, {"sizes": [10]}),
    "pods": Benchmark(pods.run, {"sizes": [10]}),
    "ship": Benchmark(ship.run, {"sizes": [1], "here": 1, "simulated": 10}),
    "thousand": Benchmark(thousand.run, {"sizes": [1]}),
    "kubernetes": Benchmark(kubernetes.run, {"sizes": [1]}),
    "slurm": Benchmark(slurm.run, {"sizes": [1]}),
    "output": Benchmark(output.run, {"sizes": [1], "lines": 20_000}),
    "teardown": Benchmark(teardown.run, {"sizes": [1]}),
    "mesos": Benchmark(mesos.run, {"sizes": [3]}),
}


def main(argv: list[str] | None = None) -> None:
    args = parse(argv)
    args.directory.mkdir(parents=True, exist_ok=True)
    began, load, goals = time.monotonic(), os.getloadavg()[0], []
    for name in args.names or BENCHMARKS:
        benchmark = BENCHMARKS[name]
        settings = dict(benchmark.smallest) if args.smallest else {}
        if args.times or args.smallest:
            settings["times"] = args.times or 1
        result = benchmark.run(**settings)
        print(result.table(), end="\n\n", flush=True)
        keep(result, args.directory)
        goals += result.goals
        if result.values and not plots.draw(result, args.directory):
            print(f"no plot of {name}: matplotlib is not installed (pip install matplotlib)")
    minutes = (time.monotonic() - began) / 60
    print(f"{minutes:.1f} minutes, on a machine with a load of {load:.1f} before")
    show_goals(goals)


def show_goals(goals: Sequence[Goal]) -> None:
    if goals:
        met = sum(goal.is_met for goal in goals)
        print(f"\n{goals_table(goals)}\n\n{met} of {len(goals)} goals are met")


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    add = parser.add_argument
    add("names", metavar="NAME", nargs="*", help=f"of {', '.join(BENCHMARKS)}; all without any")
    add("--times", type=int, metavar="N", help="repetitions, instead of those of each benchmark")
    add("--smallest", action="store_true", help="once, at the smallest size: does it work?")
    add("--directory", type=Path, default=Path(__file__).parent, help="of what is written")
    args = parser.parse_args(argv)
    for name in args.names:
        if name not in BENCHMARKS:
            parser.error(f"{name!r} is none of {', '.join(BENCHMARKS)}")
    return args


def keep(result: Result, directory: Path) -> None:
    """Put *result* into results.json, in place of an older one of that name."""
    path = directory / "results.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    kept["machine"] = machine()
    kept.setdefault("benchmarks", {})[result.name] = result.as_json()
    path.write_text(json.dumps(kept, indent=1) + "\n")


def machine() -> dict[str, object]:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "load": [round(load, 1) for load in os.getloadavg()],
        "memory (GiB)": round(memory / 2**30, 1),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.release()}",
        "python": sys.version.split()[0],
        "torchrun": bool(programs.torchrun_path()),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")


if __name__ == "__main__":
    main()
