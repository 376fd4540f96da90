"""Who does not use a Kubernetes does not wait for the modules about it."""

from __future__ import annotations

import subprocess
import sys


def test_a_run_that_uses_no_kubernetes_imports_nothing_of_it():
    code = (
        "import sys, tfmesos.tfrun, tfmesos.scheduler, tfmesos.launcher.run\n"
        "import tfmesos.engines.mesos.setup\n"
        "ours = [name for name in sys.modules if name.startswith('tfmesos.engines.kubernetes')]\n"
        "print(ours, {'wsproto', 'yaml'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[] set()\n", done.stderr
