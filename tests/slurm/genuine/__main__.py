"""Start the cluster by hand; it ends with Ctrl-C."""

from __future__ import annotations

import signal
import tempfile
from pathlib import Path

from .cluster import Slurm

with tempfile.TemporaryDirectory(prefix="tfmesos-slurm-") as place:
    with Slurm(Path(place) / "slurm") as slurm:
        print(f"export SLURM_CONF={slurm.conf}", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            pass
