"""python -m bench NAME [REPETITIONS]"""

from __future__ import annotations

import argparse

from bench import in_graph, startup

BENCHMARKS = {"in-graph": in_graph.run, "start-up": startup.run}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure side by side.")
    parser.add_argument("name", choices=BENCHMARKS)
    parser.add_argument("repetitions", type=int, nargs="?", default=5)
    args = parser.parse_args()
    print(BENCHMARKS[args.name](args.repetitions).table())


if __name__ == "__main__":
    main()
