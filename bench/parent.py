"""Runs a command and prints its exit code, seconds, seconds of CPU and MiB of memory.

The system counts to the peak memory of a process what its parent had when it forked. This parent
is small; the process of the benchmarks is larger than a launcher.
"""

import json
import os
import signal
import sys
import time

limit, argv = int(sys.argv[1]), sys.argv[2:]
start = time.perf_counter()
quiet = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=quiet)
signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGTERM))
signal.alarm(limit)
_, status, usage = os.wait4(pid, 0)
seconds = time.perf_counter() - start
cpu = usage.ru_utime + usage.ru_stime
print(json.dumps([os.waitstatus_to_exitcode(status), seconds, cpu, usage.ru_maxrss / 1024]))
