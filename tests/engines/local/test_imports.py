"""What a run on this machine imports: nothing of other engines, and the launcher last."""

from __future__ import annotations

import subprocess
import sys

RESOLVED = (
    "import sys, tfmesos.tfrun\n"
    "from tfmesos.cli.arguments import parse\n"
    "from tfmesos.cli.flag_inputs import inputs_of\n"
    "inputs_of(parse(['-w', '2', '--', 'true'])).config()\n"
)
OF_A_RUN = "import tfmesos.cli.launching, tfmesos.engines.local.setup\n"


def imported(code):
    code += "print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_run_on_this_machine_imports_no_other_engine_and_no_http():
    names = imported(RESOLVED + OF_A_RUN)
    foreign = ("tfmesos.http", *(f"tfmesos.engines.{n}" for n in ("mesos", "kubernetes", "slurm")))
    assert [name for name in names if name.startswith((*foreign, "h11", "wsproto"))] == []
    assert "tfmesos.engines.local.driver" in names


def test_settings_are_known_before_asyncio_is_imported():
    """So that the warm parent can come up meanwhile."""
    assert "asyncio" not in imported(RESOLVED)
