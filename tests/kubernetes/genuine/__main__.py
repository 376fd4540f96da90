"""Start the cluster of the tests and keep it until it is interrupted."""

from __future__ import annotations

import signal
import tempfile
from pathlib import Path

from .conftest import three_nodes

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="tfmesos-kubernetes-") as place:
        with three_nodes(Path(place) / "cluster") as cluster:
            print(f"export TFMESOS_TEST_KUBERNETES={cluster.directory}", flush=True)
            print(f"export KUBECONFIG={cluster.kubeconfig}", flush=True)
            try:
                signal.pause()
            except KeyboardInterrupt:
                pass
