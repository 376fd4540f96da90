"""mesos-executor: runs one command for an agent, over the agent's v1 executor API.

It does and says what Mesos's own command executor does and says, which is no part of libmesos. It
outlives its agent if the framework asked for checkpoints, and re-subscribes when the agent is back.
CONTRIBUTING.rst lists where it is milder.
"""

import base64
import http.client
import json
import math
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
UNSAID = (
    "SUBSCRIBED",
    "ENDED",
    "AGENT_LOST",
    "HEARTBEAT",
    "ACKNOWLEDGED",
)  # what Mesos's own does not log

# Seconds.
RETRY_AFTER = 0.2
DEFAULT_GRACE = 3.0
REAP_INTERVAL = 0.1  # an ended process is noticed that late
STAY_AFTER_END = 1.0  # for the last update to reach the agent; whether it does is not asked
BEFORE_SHUTDOWN_ENDS = 2.0  # by so much the task is killed before the agent kills everything
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "secs": 1, "mins": 60, "hrs": 3600}


def seconds(text):
    """Mesos writes durations like 5secs or 500ms."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    return float(number) * UNITS.get(text[len(number) :], 86400)


RECOVERY_TIMEOUT = seconds(os.environ.get("MESOS_RECOVERY_TIMEOUT", "15mins"))
SHUTDOWN_GRACE = seconds(os.environ.get("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD", "5secs"))


def log(text, place="executor.cpp:740"):
    """Into the sandbox of the task, as Mesos's own does."""
    now = time.time()
    stamp = time.strftime("%m%d %H:%M:%S", time.localtime(now)) + f"{now % 1:.6f}"[1:]
    print(f"I{stamp} {os.getpid():5} {place}] {text}", file=sys.stderr, flush=True)


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
        self.killed_at = None
        self.escalate_at = self.leave_at = math.inf
        self.launched = {}  # the task as it was launched, until an update is acknowledged
        self.updates = {}  # those that are not acknowledged, by uuid
        self.last_update = None  # the uuid of the one that tells of the end

    def run(self):
        threading.Thread(target=self.listen, daemon=True).start()
        log("Version: 1.11.0", "exec.cpp:164")
        while True:
            try:
                self.handle(self.queue.get(timeout=self.until_deadline()))
            except queue.Empty:
                self.deadline_passed()

    def until_deadline(self):
        deadline = min(self.escalate_at, self.leave_at)
        return None if deadline == math.inf else max(0.0, deadline - time.monotonic())

    def deadline_passed(self):
        if time.monotonic() >= self.leave_at:
            os._exit(0)
        if time.monotonic() >= self.escalate_at:
            self.escalate_at = math.inf
            self.signal(signal.SIGKILL)

    def handle(self, event):
        kind = event["type"]
        if kind not in UNSAID:
            log(f"Received {kind} event", "executor.cpp:190")
        if kind == "SUBSCRIBED":
            self.subscribed(event["subscribed"])
        elif kind == "LAUNCH":
            self.launch(event["launch"]["task"])
        elif kind == "KILL":  # its own kill policy is not respected by an agent with the defaults
            policy = self.task.get("kill_policy", {})
            grace = policy.get("grace_period", {}).get("nanoseconds", DEFAULT_GRACE * 1e9) / 1e9
            log(f"Received kill for task with grace period of {grace:g}secs")
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
        log(f"Starting task {task['task_id']['value']}")
        self.process = start(task)
        log(f"Forked command at {self.process.pid}")
        threading.Thread(target=self.await_end, daemon=True).start()
        self.update("TASK_RUNNING")

    def await_end(self):
        while self.process.poll() is None:
            time.sleep(REAP_INTERVAL)
        self.queue.put({"type": "ENDED", "status": self.process.returncode})

    def report_end(self, status):
        if status < 0:
            message = "Command terminated with signal " + signal.strsignal(-status)
        else:
            message = f"Command exited with status {status}"
        log(f"{message} (pid: {self.process.pid})")
        state = "TASK_FAILED" if status else "TASK_FINISHED"
        self.escalate_at, self.leave_at = math.inf, time.monotonic() + STAY_AFTER_END
        self.last_update = self.update("TASK_KILLED" if self.killed_at else state, message)

    def kill(self, grace):
        """A second call can make the grace shorter, never longer."""
        if self.leave_at != math.inf:
            return
        if self.killed_at is None:
            if {"type": "TASK_KILLING_STATE"} in self.capabilities:
                self.update("TASK_KILLING")
            self.signal(signal.SIGTERM)
            self.killed_at = time.monotonic()
        self.escalate_at = min(self.escalate_at, self.killed_at + grace)

    def signal(self, number):
        """To all processes of the task, its other sessions included."""
        log(f"Sending {number.name} to process tree at pid {self.process.pid}")
        trees = signal_tree(self.process.pid, number)
        lines = "".join(f"--- {pid} {command}\n" for pid, command in trees)
        log(f"Sent {number.name} to the following process trees:\n[ \n{lines}]")

    def shut_down(self):
        log("Shutting down")
        if self.process is None:
            os._exit(0)
        self.kill(max(0.0, SHUTDOWN_GRACE - BEFORE_SHUTDOWN_ENDS))

    # The agent

    def subscribed(self, event):
        log(f"Executor registered on agent {event['agent_info']['id']['value']}", "exec.cpp:237")
        log("Received SUBSCRIBED event", "executor.cpp:190")
        log(f"Subscribed executor on {event['agent_info']['hostname']}", "executor.cpp:194")
        self.capabilities = event["framework_info"].get("capabilities", [])

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
            log(f"{state} is not sent yet: {error}")
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
                log(f"the agent is away: {error}")
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
    """Through the launcher, which gets the whole request in one variable."""
    launcher = os.path.join(launcher_dir(), "mesos-containerizer")
    flags = {
        "HELP": "false",
        "LAUNCH_INFO": compact(launch_info(task)),
        "UNSHARE_NAMESPACE_MNT": "false",
    }
    variables = {f"MESOS_CONTAINERIZER_{name}": value for name, value in flags.items()}
    try:
        return subprocess.Popen(
            ["mesos-containerizer", "launch"],
            executable=launcher,
            env={**own_environment(), **variables},
            start_new_session=True,
        )
    except OSError as error:  # the child of Mesos's own ends so, and says so
        words = f"Failed to os::execvpe on path '{launcher}': {error.errno}"
        script = f'echo "EXIT with status {error.errno}: {words}" >&2; exit {error.errno}'
        return subprocess.Popen(["/bin/sh", "-c", script], start_new_session=True)


def launcher_dir():
    """The only flag of an executor whose task has no image."""
    name, _, value = sys.argv[1].partition("=")
    if name != "--launcher_dir" or len(sys.argv) != 2:
        sys.exit(f"this stand-in does not understand {sys.argv[1:]}")
    return value


def launch_info(task):
    """It holds the variables of the command twice."""
    variables = own_environment()  # where the agent has put those of the command, too
    for variable in task["command"].get("environment", {}).get("variables", []):
        variables[variable["name"]] = variable["value"]
    variables["MESOS_ALLOCATION_ROLE"] = task["resources"][0]["allocation_info"]["role"]
    listed = [{"name": n, "type": "VALUE", "value": value} for n, value in variables.items()]
    return {"command": task["command"], "environment": {"variables": listed}}


def compact(content):
    """JSON as Mesos writes it, byte for byte as long."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return text.replace("/", "\\/")


def own_environment():
    own = dict(os.environ)
    if own.get("LC_CTYPE") == "C.UTF-8":  # Python itself has put it there
        del own["LC_CTYPE"]
    return own


# Signals


def signal_tree(root, number):
    """Stop all processes of the task, so that none forks meanwhile; signal and continue them."""
    stopped = set()
    while new := members(root) - stopped:
        for pid in new:
            send(pid, signal.SIGSTOP)
        stopped |= new
    trees = [(pid, command_line(pid)) for pid in sorted(stopped)]
    for pid in stopped:
        send(pid, number)
    for pid in stopped:
        send(pid, signal.SIGCONT)
    return trees


def members(root):
    """Those below *root* and those in a session of one of them, in whatever generation."""
    rows = [row for pid in os.listdir("/proc") if pid.isdigit() and (row := read_stat(pid))]
    pids, sessions, before = {root}, {root}, 0
    while len(pids) > before:
        before = len(pids)
        pids |= {pid for pid, parent, session in rows if parent in pids or session in sessions}
        sessions |= {session for pid, _, session in rows if pid in pids}
    return pids


def read_stat(pid):
    """The pid, the parent and the session of a process that is there."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            _, parent, _, session = file.read().rpartition(")")[2].split()[:4]
    except OSError:
        return None
    return int(pid), int(parent), int(session)


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


Executor().run()
