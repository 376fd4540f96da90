"""The data of the examples: small pictures of handwritten digits, and how well they are read.

    data = digits.load()                      # digits.npz, beside this file: 8 x 8 pixels
    data = digits.load("mnist.npz")           # the full MNIST, as Keras stores it: 28 x 28
    for images, labels in data.shard(index, workers).batches(100): ...
    digits.report(accuracy)                   # prints it; ends the program if it is too low

Needs NumPy only. See README.rst for where the pictures come from.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

SHIPPED = Path(__file__).with_name("digits.npz")
ARRAYS = ("x_train", "y_train", "x_test", "y_test")
CLASSES = 10
BOUND = 0.9  # the test accuracy every example must reach


@dataclass(frozen=True)
class Digits:
    """Images as rows of numbers from 0 to 1, labels from 0 to 9; the same for every caller."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray

    @property
    def pixels(self) -> int:
        return self.train_images.shape[1]

    def shard(self, index: int, count: int) -> Digits:
        """One worker's part of the training data: every *count*-th image, from *index* on."""
        mine = slice(index, None, count)
        return replace(
            self, train_images=self.train_images[mine], train_labels=self.train_labels[mine]
        )

    def batches(self, size: int, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Endless training batches, in a new order each time round."""
        order = np.random.default_rng(seed)
        size = min(size, len(self.train_labels))
        while True:
            shuffled = order.permutation(len(self.train_labels))
            for start in range(0, len(shuffled) - size + 1, size):
                batch = shuffled[start : start + size]
                yield self.train_images[batch], self.train_labels[batch]


def add_data_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        metavar="FILE",
        default=SHIPPED,
        help="mnist.npz, for the full MNIST (default: the small digits that come along)",
    )


def load(path: str | Path = SHIPPED) -> Digits:
    """Read a file in Keras' layout of MNIST; ends the program when it is none."""
    arrays = _arrays(path)
    for x, y in (ARRAYS[:2], ARRAYS[2:]):
        images, labels = arrays[x], arrays[y]
        if images.ndim < 2 or labels.ndim != 1 or not 0 < len(images) == len(labels):
            sys.exit(f"{path}: {x} {images.shape} and {y} {labels.shape} are not images and labels")
        if labels.min() < 0 or labels.max() >= CLASSES:
            sys.exit(f"{path}: {y} must hold digits from 0 to 9")
    brightest = max(arrays["x_train"].max(), 1)  # 255 in MNIST, 16 in the small digits
    return Digits(
        _rows(arrays["x_train"], brightest),
        arrays["y_train"].astype(np.int64),
        _rows(arrays["x_test"], brightest),
        arrays["y_test"].astype(np.int64),
    )


def _arrays(path: str | Path) -> dict[str, np.ndarray]:
    layout = f"a .npz file with the arrays {', '.join(ARRAYS)}"
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as found:
            missing = [name for name in ARRAYS if name not in found]
            if missing:
                sys.exit(f"{path}: {', '.join(missing)} missing; --data wants {layout}")
            return {name: found[name] for name in ARRAYS}
    except OSError as error:
        sys.exit(f"{path}: {error.strerror or error}; --data wants {layout}")
    except (ValueError, EOFError, AttributeError, TypeError, zipfile.BadZipFile):
        sys.exit(f"{path}: cannot be read as arrays; --data wants {layout}")


def _rows(images: np.ndarray, brightest: float) -> np.ndarray:
    return (images.reshape(len(images), -1) / brightest).astype(np.float32)


def report(accuracy: float) -> None:
    """Print the test accuracy, and end the program when it is below the bound."""
    print(f"test accuracy: {accuracy:.3f}", flush=True)
    if not accuracy >= BOUND:
        sys.exit(f"the test accuracy should be at least {BOUND}: the training went wrong")
