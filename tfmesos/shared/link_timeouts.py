"""How long runner and launcher wait for each other. All in seconds."""

from __future__ import annotations

HEARTBEAT = 5.0  # between two signs of life of either side
SILENCE_TIMEOUT = 20.0  # without one, after which the connection counts as broken
HANDSHAKE_TIMEOUT = 5.0  # for one connection: to make it, and to prove the secret
CONNECT_TIMEOUT = 20.0  # for a new task to reach the launcher
DIALLED_TIMEOUT = 60.0  # for the launcher to dial a new task: its way may be broken just then
RECONNECT_TIMEOUT = 30.0  # to find each other again after the connection broke
API_SERVER_RECONNECT_TIMEOUT = 120.0  # the same through an API server, which may be restarted
LOCAL_RECONNECT_TIMEOUT = 2.0  # the same on one machine, where a lost launcher has ended
STOP_GRACE = 2.0  # from SIGTERM to SIGKILL, if the launcher does not say
OUTPUT_SILENCE = 30.0  # without output of a task, after which the launcher mentions it
GOODBYE_TIMEOUT = 10.0  # for the launcher to take something more of the last messages of a runner
DEAD_SERVER_TIMEOUT = 60.0  # the same, while the runner answers for a server that has ended
OUTPUT_PAUSE = 0.25  # at most that a command waits for the launcher to take its output
