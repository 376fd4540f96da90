"""mesos-executor: runs one command for an agent, over the agent's v1 executor API.

It reports what Mesos's own command executor reports, word for word. It outlives its agent
if the framework asked for checkpoints, and re-subscribes when the agent is back.
"""

import base64
import http.client
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import uuid

ENDPOINT = os.environ["MESOS_AGENT_ENDPOINT"]
PATH = "/" + os.environ["MESOS_SLAVE_PID"].partition("@")[0] + "/api/v1/executor"
EXECUTOR_ID = {"value": os.environ["MESOS_EXECUTOR_ID"]}
FRAMEWORK_ID = {"value": os.environ["MESOS_FRAMEWORK_ID"]}
SURVIVES_AGENT = os.environ.get("MESOS_CHECKPOINT") == "1"
RETRY_AFTER = 0.2  # seconds
DEFAULT_GRACE = 3.0  # seconds
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "secs": 1, "mins": 60, "hrs": 3600}


def seconds(text):
    """Mesos writes durations like 5secs or 500ms."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    return float(number) * UNITS.get(text[len(number) :], 86400)


RECOVERY_TIMEOUT = seconds(os.environ.get("MESOS_RECOVERY_TIMEOUT", "15mins"))
SHUTDOWN_GRACE = seconds(os.environ.get("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD", "5secs"))


def request(call):
    connection = http.client.HTTPConnection(ENDPOINT)
    body = json.dumps({"framework_id": FRAMEWORK_ID, "executor_id": EXECUTOR_ID, **call})
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    connection.request("POST", PATH, body, headers)
    return connection.getresponse()


class Executor:
    """Everything is done by the main thread, in ``run``; the others put into its queue."""

    def __init__(self):
        self.queue = queue.Queue()
        self.task = None
        self.process = None
        self.capabilities = []
        self.killed = False
        self.launched = {}  # the task as it was launched, until an update is acknowledged
        self.updates = {}  # those that are not acknowledged, by uuid
        self.last_update = None  # the uuid of the one that tells of the end

    def run(self):
        threading.Thread(target=self.listen, daemon=True).start()
        while True:
            self.handle(self.queue.get())

    def handle(self, event):
        kind = event["type"]
        if kind == "SUBSCRIBED":
            self.capabilities = event["subscribed"]["framework_info"].get("capabilities", [])
        elif kind == "LAUNCH":
            self.launch(event["launch"]["task"])
        elif kind == "KILL":
            policy = event["kill"].get("kill_policy") or self.task.get("kill_policy") or {}
            grace = policy.get("grace_period", {}).get("nanoseconds", DEFAULT_GRACE * 1e9) / 1e9
            self.kill(grace)
        elif kind == "ACKNOWLEDGED":
            self.acknowledged(event["acknowledged"]["uuid"])
        elif kind == "ENDED":
            self.report_end(event["status"])
        elif kind in ("SHUTDOWN", "AGENT_LOST"):
            self.shut_down()

    # The task

    def launch(self, task):
        self.task = task
        self.launched = {task["task_id"]["value"]: task}
        self.update("TASK_STARTING")
        self.process = start(task)
        self.update("TASK_RUNNING")
        threading.Thread(target=self.await_end, daemon=True).start()

    def await_end(self):
        self.queue.put({"type": "ENDED", "status": self.process.wait()})

    def report_end(self, status):
        if status < 0:
            message = "Command terminated with signal " + signal.strsignal(-status)
        else:
            message = f"Command exited with status {status}"
        state = "TASK_FAILED" if status else "TASK_FINISHED"
        self.last_update = self.update("TASK_KILLED" if self.killed else state, message)

    def kill(self, grace):
        if self.process is None or self.process.poll() is not None:
            return
        if not self.killed and {"type": "TASK_KILLING_STATE"} in self.capabilities:
            self.update("TASK_KILLING")
        self.killed = True
        self.signal(signal.SIGTERM)
        threading.Thread(target=self.kill_after, args=(grace,), daemon=True).start()

    def kill_after(self, grace):
        try:
            self.process.wait(grace)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)

    def signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def shut_down(self):
        if self.process is not None:
            self.killed = True
            self.signal(signal.SIGTERM)
            self.kill_after(SHUTDOWN_GRACE / 2)
            self.process.wait()
        os._exit(0)

    # The agent

    def update(self, state, message=None):
        """Tell the agent; if it is away it hears of it when it is back."""
        number = base64.b64encode(uuid.uuid4().bytes).decode()
        status = {
            "task_id": self.task["task_id"],
            "executor_id": EXECUTOR_ID,
            "state": state,
            "source": "SOURCE_EXECUTOR",
            "uuid": number,
            "timestamp": time.time(),
            **({"message": message} if message else {}),
        }
        self.updates[number] = {"status": status}
        try:
            request({"type": "UPDATE", "update": {"status": status}}).read()
        except (OSError, http.client.HTTPException) as error:
            print(f"{state} is not sent yet: {error}", file=sys.stderr, flush=True)
        return number

    def acknowledged(self, number):
        self.updates.pop(number, None)
        self.launched.clear()
        if number == self.last_update:
            os._exit(0)

    def listen(self):
        lost_at = time.monotonic()
        while True:
            try:
                self.read_events()
                lost_at = time.monotonic()
            except (OSError, http.client.HTTPException) as error:
                print(f"the agent is away: {error}", file=sys.stderr, flush=True)
            if not SURVIVES_AGENT or time.monotonic() > lost_at + RECOVERY_TIMEOUT:
                break
            time.sleep(RETRY_AFTER)
        self.queue.put({"type": "AGENT_LOST"})

    def read_events(self):
        subscription = {
            "unacknowledged_tasks": list(self.launched.values()),
            "unacknowledged_updates": list(self.updates.values()),
        }
        stream = request({"type": "SUBSCRIBE", "subscribe": subscription})
        if stream.status != 200:
            raise OSError(f"SUBSCRIBE was answered {stream.status} {stream.read()!r}")
        while length := stream.readline():
            self.queue.put(json.loads(stream.read(int(length))))


def start(task):
    command = task["command"]
    if command.get("shell", True):
        argv, program = ["sh", "-c", command["value"]], "/bin/sh"
    else:
        argv, program = command.get("arguments") or [command["value"]], command["value"]
    options = {"env": environment(task), "stdin": subprocess.DEVNULL, "start_new_session": True}
    try:
        return subprocess.Popen(argv, executable=program, **options)
    except OSError as error:
        print(f"Failed to launch: {error}", file=sys.stderr, flush=True)
        return subprocess.Popen(["/bin/sh", "-c", "exit 1"], **options)


def environment(task):
    own = dict(os.environ)
    if own.get("LC_CTYPE") == "C.UTF-8":  # Python itself has put it there
        del own["LC_CTYPE"]
    for resource in task.get("resources", []):
        if "allocation_info" in resource:
            own["MESOS_ALLOCATION_ROLE"] = resource["allocation_info"]["role"]
    for variable in task["command"].get("environment", {}).get("variables", []):
        own[variable["name"]] = variable.get("value", "")
    return {"MESOS_SANDBOX": os.getcwd(), **own}


Executor().run()
