"""One command of the runner, and how its output is read."""

import os
import sys

from tfmesos import child
from tfmesos.child import Child
from tfmesos.loop import Loop


class RestCountingLoop(Loop):
    rests = 0

    def after(self, seconds, callback):
        self.rests += seconds == child.REST
        return super().after(seconds, callback)


def output_of(script):
    """What a command wrote to its standard output, as it was read, and how often nobody looked."""
    pieces = []

    def read(stream, data):
        if stream == "stdout" and data:
            pieces.append(data)

    with RestCountingLoop() as loop:
        argv = [sys.executable, "-S", "-c", script]
        command = Child(loop, argv, dict(os.environ), os.getcwd(), read)
        loop.run_until(lambda: command.ended)
    assert command.returncode == 0
    return pieces, loop.rests


def test_a_command_that_writes_line_by_line_is_not_read_line_by_line():
    pieces, rests = output_of(
        "import time\n"
        "for step in range(300):\n"
        "    print(step, flush=True)\n"
        "    time.sleep(0.0005)\n"
    )
    assert b"".join(pieces).split() == [b"%d" % step for step in range(300)]
    assert len(pieces) - 2 <= rests <= len(pieces)


def test_what_is_written_after_a_rest_is_read_at_once():
    pieces, _ = output_of("import os, time; os.write(1, b'1'); time.sleep(0.2); os.write(1, b'2')")
    assert pieces == [b"1", b"2"]


def test_a_flood_is_not_held_up_however_small_its_pieces():
    pieces, rests = output_of("import os\nfor _ in range(4096): os.write(1, bytes(4096))")
    assert sum(map(len, pieces)) == 4096 * 4096
    assert rests < 50  # one for each pipeful would be 256
