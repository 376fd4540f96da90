"""How long a test waits for what must come.

Only a hang may fail it, not a busy machine. pytest-timeout (pyproject.toml) bounds a whole test,
so most waits need no bound of their own; HANG is for those that can say what they waited for.
"""

from __future__ import annotations

HANG = 300.0  # seconds
LEAVING = 25.0  # seconds; after 30 a runner that nobody has ended ends by itself
