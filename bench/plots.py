"""A picture of each result: one panel per measure, median and spread over the size."""

from __future__ import annotations

import statistics
from pathlib import Path

from bench.timing import Result


def draw(result: Result, directory: Path) -> list[Path]:
    """NAME.png and NAME.svg in *directory*; nothing, and [], without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "bench"  # so that the same result gives the same file
    from matplotlib import pyplot

    number = len(result.values)
    figure, panels = pyplot.subplots(1, number, figsize=(5 * number, 4), squeeze=False)
    for axes, (measure, contestants) in zip(panels[0], result.values.items(), strict=True):
        for name, sizes in contestants.items():
            _draw_one(axes, name, sizes)
        axes.set(xlabel=result.size, ylabel=measure, xscale="log", ylim=(0, None))
        axes.set_xticks(sorted({size for sizes in contestants.values() for size in sizes}))
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.minorticks_off()
        axes.legend(fontsize="small")
        axes.grid(alpha=0.3)
    figure.suptitle(result.title)
    figure.tight_layout()
    paths = [directory / f"{result.name}.{kind}" for kind in ("png", "svg")]
    for path in paths:
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
    return paths


def _draw_one(axes, name: str, sizes: dict[int, list[float]]) -> None:  # type: ignore[no-untyped-def]
    x = sorted(sizes)
    medians = [statistics.median(sizes[size]) for size in x]
    below = [m - min(sizes[size]) for m, size in zip(medians, x, strict=True)]
    above = [max(sizes[size]) - m for m, size in zip(medians, x, strict=True)]
    axes.errorbar(x, medians, [below, above], label=name, marker="o", markersize=3, capsize=2)
