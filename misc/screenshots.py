"""Makes the pictures of docs/ from real runs: python misc/screenshots.py [NAME ...]

It needs TensorFlow, and takes about two minutes. ``page`` needs chromium and chromium-driver,
``display`` and ``stacks`` need tmux and rich, ``stacks`` also py-spy.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
sys.path.insert(0, str(ROOT))

from PIL import Image  # noqa: E402

from tests.browser import chromium, until, until_text  # noqa: E402
from tests.terminal import terminal  # noqa: E402

REPLICAS = (
    *("--ps_hosts", "{ps_hosts}", "--worker_hosts", "{worker_hosts}"),
    *("--job_name", "{job_name}", "--worker_index", "{task_index}"),
)
MEASURED = 45.0  # seconds in which there are enough measurements for a plot
WIDE, NARROW = 1180, 400
COLOURS = 128  # of a picture; more make the file larger, and nobody sees them


class Stage:
    """A directory with a program, and runs of it that nobody else sees."""

    def __init__(self, place: Path) -> None:
        self.program = place / "digits"
        shutil.copytree(ROOT / "examples" / "mnist", self.program)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.env = {**os.environ, "XDG_STATE_HOME": str(place / "state"), "PATH": path}

    def tfrun(self, *words: str) -> str:
        options: Any = {"cwd": self.program, "env": self.env, "stdout": subprocess.PIPE}
        return subprocess.run(["tfrun", *words], text=True, **options).stdout.strip()

    @contextmanager
    def page(self) -> Iterator[str]:
        """The link to the page of these runs."""
        words = ["tfrun", "ui", "--no-browser"]
        served = subprocess.Popen(words, env=self.env, stdout=subprocess.PIPE, text=True)
        try:
            assert served.stdout is not None
            yield served.stdout.readline().strip()
        finally:
            served.send_signal(signal.SIGINT)
            served.wait()


class Camera:
    def __init__(self, browser: Any) -> None:
        self._browser = browser

    def look(self, width: int, scheme: str = "light") -> None:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._do("Emulation.setEmulatedMedia", features=[feature])
        self._size(width, 800)

    def take(self, name: str, most: int = 2400) -> None:
        """The whole page, or its first *most* pixels."""
        height = self._browser.execute_script("return document.documentElement.scrollHeight")
        width = self._browser.execute_script("return innerWidth")
        self._size(width, min(height, most))
        time.sleep(0.5)  # what follows the size is drawn
        PICTURES.mkdir(exist_ok=True)
        shot = Image.open(BytesIO(self._browser.get_screenshot_as_png()))
        few = shot.convert("RGB").quantize(
            COLOURS, Image.Quantize.MAXCOVERAGE
        )  # the rare ones stay
        few.save(PICTURES / f"{name}.png", optimize=True)

    def _size(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._do("Emulation.setDeviceMetricsOverride", **size)

    def _do(self, command: str, **values: Any) -> None:
        self._browser.execute_cdp_cmd(command, values)


def page(stage: Stage) -> None:
    """The list of runs, one that goes on, and one that failed."""
    flags = ("-w", "2", "-s", "1")
    stage.tfrun(*flags, "--logs", "none", "--", "python", "mnist_replica.py", *REPLICAS)
    wrong = ("python", "mnist_replica.py", *REPLICAS, "--data", "digits-2026.npz")
    stage.tfrun(*flags, "--logs", "none", "--", *wrong)
    endless = ("python", "mnist_replica.py", *REPLICAS, "--steps", "10000000")
    live = stage.tfrun("--detach", *flags, "--", *endless)
    try:
        time.sleep(MEASURED / 2)
        stage.tfrun("restart", live, "worker:1")
        time.sleep(MEASURED / 2)
        with stage.page() as link, chromium("--hide-scrollbars") as browser:
            _take_all(browser, link, live)
    finally:
        stage.tfrun("stop", live)


def _take_all(browser: Any, link: str, live: str) -> None:
    camera = Camera(browser)
    camera.look(WIDE)
    browser.get(link)
    until_text(browser, "failed", "succeeded", "running")
    camera.take("page-runs", 360)
    links = browser.find_elements("css selector", ".runs tbody a")
    failed = next(link.text for link in links if link.text != live)
    base = browser.current_url
    browser.get(f"{base}?run={failed}")
    until_text(browser, "Why it failed", "How it was started")
    camera.take("page-failure", 760)
    browser.get(f"{base}?run={live}")
    until_text(browser, "step")
    until(browser, lambda: browser.find_elements("css selector", ".plot"))
    for name, width, scheme in (("live", WIDE, "light"), ("dark", WIDE, "dark")):
        camera.look(width, scheme)
        camera.take(f"page-{name}")
    camera.look(NARROW)
    camera.take("page-narrow", 1200)


# Each worker trains for itself, with the progress bar of Keras.
FIT = """
import time
import quiet
import keras, numpy
with numpy.load("digits.npz") as data:
    images, labels = data["x_train"], data["y_train"]
model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(64, "relu"),
                          keras.layers.Dense(10, "softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
print(len(images), "images", flush=True)
class Slowly(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.03)
model.fit(images / images.max(), labels, batch_size=32, epochs=1000, callbacks=[Slowly()])
"""


def display(stage: Stage) -> None:
    """The table on a terminal."""
    (stage.program / "train.py").write_text(FIT)
    with _shell(stage, 110, 24) as shell:
        shell.type("tfrun -w 3 -- python train.py")
        shell.until(lambda screen: screen.count(" MB ") == 3 and screen.count("Epoch 4/") >= 3)
        picture = _svg(shell.screen(escapes=True), 110)
        shell.press("C-c")
        shell.until(lambda screen: screen.endswith("$"))
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / "display.svg").write_text(picture)


@contextmanager
def _shell(stage: Stage, columns: int, lines: int) -> Iterator[Any]:
    """At a terminal, where the program and tfrun are found."""
    with terminal(columns, lines) as shell:
        shell.type(f"cd {stage.program}; export PATH={stage.env['PATH']}")
        shell.type(f"export XDG_STATE_HOME={stage.env['XDG_STATE_HOME']} PS1='$ '; clear")
        yield shell


# Worker 2 waits for a file of its data that never comes, all others wait for worker 2.
HANG = """
import json, os, threading

def read_shard(path):
    with open(path, "rb") as file:
        return file.read()

def next_batch(index):
    if index == 2:
        return read_shard("shard-7")
    return b""

def all_reduce(gradients, done):
    done.wait()

def train(index):
    done = threading.Event()
    for step in range(1000):
        batch = next_batch(index)
        all_reduce(len(batch), done)

if __name__ == "__main__":
    train(json.loads(os.environ["TF_CONFIG"])["task"]["index"])
"""


def stacks(stage: Stage) -> None:
    """What the tasks of a hung training are doing."""
    (stage.program / "train.py").write_text(HANG)
    os.mkfifo(stage.program / "shard-7")
    hung = stage.tfrun("--detach", "-w", "8", "--", "python", "train.py")
    try:
        said = _stacks_by_place(stage)
        with _shell(stage, 76, said.count("\n") + 4) as shell:
            shell.type("tfrun stacks")
            shell.until(lambda screen: "read_shard" in screen and screen.endswith("$"))
            picture = _svg(shell.screen(escapes=True), 76)
    finally:
        stage.tfrun("stop", hung)
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / "stacks.svg").write_text(picture)


def _stacks_by_place(stage: Stage) -> str:
    """Once every task hangs where it will."""
    end = time.monotonic() + 60
    while not re.search(r"3-7 of 8: all_reduce.*: read_shard", said := stage.tfrun("stacks"), re.S):
        assert time.monotonic() < end, said
        time.sleep(0.5)
    return said


def _svg(text: str, columns: int) -> str:
    from rich.console import Console
    from rich.text import Text

    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=columns, file=nowhere)
        console.print(Text.from_ansi(text))
        drawn = console.export_svg(title="tfrun")
    others = r"@font-face \{.*?\}\s*|<!--.*?-->\s*"  # fonts of other sites
    drawn = re.sub(others, "", drawn, flags=re.DOTALL)
    return drawn.replace("Fira Code", "monospace")


MAKERS = {"page": page, "display": display, "stacks": stacks}


def main(names: list[str]) -> None:
    for name in names or MAKERS:
        with tempfile.TemporaryDirectory(prefix="pictures-", dir="/tmp") as place:
            MAKERS[name](Stage(Path(place)))


if __name__ == "__main__":
    main(sys.argv[1:])
