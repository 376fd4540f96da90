"""Job files, and the programs they run in tests of whole runs."""

from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
