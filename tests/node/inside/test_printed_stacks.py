"""What Python's faulthandler prints is read as stacks, and nobody is signalled who would die."""

from __future__ import annotations

import faulthandler
import signal
import subprocess
import sys
import tempfile
import threading

import pytest

from tfmesos.node.inside.printed_stacks import can_print, threads
from tfmesos.shared.process import is_stopped

PRINTED = """step 7
Thread 0x00007f1 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 327 in wait
  File "/env/lib/python3.11/site-packages/tensorflow/python/ops.py", line 9 in prefetch
loss: 3
Current thread 0x00007f2 [main] (most recent call first):
  File "/home/me/a "b", line 1 in.py", line ??? in nowhere
  File "/home/me/train.py", line 12 in <module>
"""


def test_threads_and_frames_are_found_among_other_output():
    other, main = threads(PRINTED)
    assert [frame["name"] for frame in other["frames"]] == ["wait", "prefetch"]
    assert [frame["short_filename"] for frame in other["frames"]] == [
        "threading.py",
        "tensorflow/python/ops.py",
    ]
    assert (main["thread_name"], main["os_thread_id"] == main["pid"]) == ("main", True)
    assert main["frames"] == [
        {
            "name": "<module>",
            "filename": "/home/me/train.py",
            "short_filename": "train.py",
            "line": 12,
        }
    ]
    assert threads("no stacks\n") == []


def test_what_this_python_prints_is_understood():
    release, begun = threading.Event(), threading.Event()

    def prefetch():
        begun.set()
        release.wait()

    other = threading.Thread(target=prefetch)
    other.start()
    begun.wait()
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        found = threads(file.read())
    release.set()
    other.join()
    assert "prefetch" in [frame["name"] for thread in found for frame in thread["frames"]]
    (main,) = (thread for thread in found if thread["os_thread_id"] == thread["pid"])
    assert main["frames"][0]["name"] == "test_what_this_python_prints_is_understood"


@pytest.mark.parametrize("provides", [True, False])
def test_only_a_process_that_catches_the_signal_is_asked_to_print(provides):
    register = "faulthandler.register(signal.SIGRTMAX)" if provides else "pass"
    code = f"import faulthandler, signal; {register}; print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as one:
        one.stdout.readline()
        assert can_print(one.pid) is provides
        one.send_signal(signal.SIGSTOP)
        while not is_stopped(one.pid):
            assert one.poll() is None
        assert not can_print(one.pid)
        one.kill()
    assert not can_print(one.pid)
