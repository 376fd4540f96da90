"""Jobs as DC/OS TensorFlow ran them, ported in their API only, and the archives they come in."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
DIGITS = HERE.parents[1] / "examples" / "mnist" / "digits.npz"
COLOURS = {"daisy": (250, 250, 240), "rose": (200, 20, 40), "tulip": (240, 200, 30)}


def archive():
    """As GitHub packs the branch of a repository."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for path in sorted(HERE.glob("*/*.py")):
            file.write(path, f"demos-master/{path.relative_to(HERE)}")
        file.write(DIGITS, "demos-master/mnist/digits.npz")
    return content.getvalue()


def options_file(directory, name, url, *, context, shared, **more):
    """An options.json; *context* is a dict, which such a file holds as a text."""
    service = {
        "name": name,
        "job_url": url,
        "job_path": f"demos-master/{name.partition('_')[0]}",
        "job_name": name,
        "job_context": json.dumps(context),
        "shared_filesystem": str(shared),
        "use_gcs_key_secret": False,
        **more.pop("service", {}),
    }
    size = {"cpus": 0.5, "mem": 256, "disk": 10, "disk_type": "ROOT"}
    sections = {
        "gpu_worker": {"count": 0, "gpus": 1, **size},
        "worker": {"count": 2, "port": 2222, **size},
        "parameter_server": {"count": 1, "port": 2223, **size},
        "tensorboard": {"port": 6006, "cpus": 0.5, "mem": 256},
    }
    sections |= {key: {**sections[key], **value} for key, value in more.items()}
    sections = {
        name: {key: value for key, value in section.items() if value is not None}
        for name, section in sections.items()
    }
    path = directory / f"{name}.json"
    path.write_text(json.dumps({"service": service, **sections}, indent=2))
    return path


def make_flowers(directory):
    """A few pictures of each kind, in its own directory: noise around a colour."""
    random = np.random.default_rng(1)
    for label, colour in COLOURS.items():
        (directory / label).mkdir(parents=True)
        for number in range(5):
            picture = np.clip(random.normal(colour, 20, (8, 8, 3)), 0, 255)
            np.save(directory / label / f"{number}.npy", (picture / 255).astype("float32"))


def poets_context(pictures, models):
    """The arguments of retrain.py, as the walkthrough passes them."""
    return {
        "args": {
            "--how_many_training_steps": 60,
            "--image_dir": str(pictures),
            "--model_dir": str(models),
            "--summaries_dir": "{{shared_filesystem}}/training_summaries",
            "--output_graph": "{{shared_filesystem}}/retrained_graph.pb",
            "--output_labels": "{{shared_filesystem}}/retrained_labels.txt",
        }
    }
