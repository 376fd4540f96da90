"""Every example, run as its user runs it: it ends by itself, and has learnt to read digits."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import environment, tfrun
from tests.elastic_training import assert_no_step_is_lost

if importlib.util.find_spec("tensorflow") is None:
    pytest.skip("the examples need TensorFlow: pip install tensorflow", allow_module_level=True)
np = pytest.importorskip("numpy", reason="comes with TensorFlow")

EXAMPLES = Path(__file__).parents[2] / "examples"
PYTHON_FIRST = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
REPLICA = (
    "python mnist_replica.py --ps_hosts {ps_hosts} --worker_hosts {worker_hosts}"
    " --job_name {job_name} --worker_index {task_index}"
).split()
FEW = ("--steps", "200")  # of which nine of ten digits are learnt, with some to spare


@pytest.fixture(autouse=True)
def no_settings_of_our_own(monkeypatch):
    for name in ("TF_CPP_MIN_LOG_LEVEL", "TF_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    # AutoGraph imports modules that it writes into TMPDIR, and would leave them there, compiled.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


def run_example(name, *args):
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name), *map(str, args)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=environment(),
    )


def tfrun_example(*args, cwd=EXAMPLES.parent):
    return tfrun(*args, env=PYTHON_FIRST, cwd=cwd)


def assert_learnt(ended, times=1):
    """It ended well, has said *times* how well it reads digits, and nothing only experts need."""
    assert ended.returncode == 0, ended.stdout + ended.stderr
    accuracies = re.findall(r"test accuracy: (\S+)", ended.stdout)
    assert len(accuracies) == times, ended.stdout
    assert min(map(float, accuracies)) >= 0.9
    assert_no_notices(ended)


def assert_no_notices(ended):
    everything = ended.stdout + ended.stderr
    assert not re.search(r"^(\[\S+\] )?([IWEF]\d{4} |WARNING)", everything, re.M), everything
    assert "Traceback" not in everything


def test_plus_adds_42_together_on_a_cluster():
    ended = run_example("plus.py")
    assert (ended.returncode, ended.stdout) == (0, "42\n"), ended.stderr
    assert "Traceback" not in ended.stderr


def test_matrix_factorization_finds_the_factors():
    ended = run_example("matrix_factorization.py")
    assert ended.returncode == 0, ended.stderr
    losses = [float(loss) for loss in re.findall(r"^step \d+: loss (\S+)", ended.stdout, re.M)]
    assert losses[0] > 1 > losses[-1]
    assert float(re.search(r"final loss: (\S+)", ended.stdout)[1]) <= 0.01
    assert "Traceback" not in ended.stderr


def test_mnist_is_learnt_in_one_graph_by_two_workers():
    ended = run_example("mnist/mnist.py", "-w", 2, "-s", 1, *FEW)
    assert_learnt(ended)
    assert {"worker 0", "worker 1"} == set(re.findall(r"^worker \d", ended.stdout, re.M))


def test_the_command_line_of_the_readme_trains_replicas():
    command = (*REPLICA, "--steps", 400)
    ended = tfrun_example("-w", 2, "-s", 1, "--", *command, cwd=EXAMPLES / "mnist")
    assert_learnt(ended)
    shares = re.findall(r"^\[worker:(\d)\] did \d+ of the \d+ steps", ended.stdout, re.M)
    assert sorted(shares) == ["0", "1"]


def test_parameter_server_strategy_is_coordinated_by_the_users_own_process():
    assert_learnt(run_example("parameter_server.py", *FEW))


def test_parameter_server_strategy_is_coordinated_by_a_chief():
    command = ["python", "examples/parameter_server.py", *FEW]
    flags = ["--chief", "-w", 2, "-s", 1, "--serve", "ps,worker"]
    assert_learnt(tfrun_example(*flags, "--", *command))


def test_multi_worker_strategy_trains_in_step_and_an_evaluator_measures_the_result(tmp_path):
    command = ["python", "examples/multi_worker.py", "--evaluator", "--model_dir", tmp_path / "m"]
    ended = tfrun_example("-w", 2, "--evaluator", "--", *command, *FEW)
    assert_learnt(ended, times=2)
    chief, evaluator = (
        re.search(rf"^\[{task}:0\] test accuracy: (\S+)", ended.stdout, re.M)[1]
        for task in ("worker", "evaluator")
    )
    assert chief == evaluator


def test_too_low_an_accuracy_is_a_failure_in_one_line():
    ended = run_example("multi_worker.py", "--steps", 1)
    assert ended.returncode == 1
    assert ended.stderr.startswith("the test accuracy should be at least 0.9")
    assert ended.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def digits():
    spec = importlib.util.spec_from_file_location("digits", EXAMPLES / "mnist" / "digits.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["digits"] = module  # where dataclasses look for it
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules["digits"]


def test_the_digits_come_along(digits):
    data = digits.load()
    assert len(data.train_labels) + len(data.test_labels) == 1797
    assert data.pixels == 64
    assert set(data.test_labels) == set(range(10))
    assert (data.train_images.min(), data.train_images.max()) == (0.0, 1.0)


def test_workers_share_the_training_images_between_them(digits):
    data = digits.load()
    shards = [data.shard(index, 3) for index in range(3)]
    assert sum(len(shard.train_labels) for shard in shards) == len(data.train_labels)
    np.testing.assert_array_equal(shards[1].train_images, data.train_images[1::3])
    np.testing.assert_array_equal(shards[1].test_images, data.test_images)


def test_batches_come_in_the_same_order_every_time_and_never_end(digits):
    data = digits.load()
    first, again, other = (data.batches(1000, seed) for seed in (0, 0, 1))
    for _ in range(3):
        images, labels = next(first)
        assert images.shape == (1000, 64)
        np.testing.assert_array_equal(labels, next(again)[1])
        assert not np.array_equal(labels, next(other)[1])


def test_a_shard_smaller_than_a_batch_still_gives_batches(digits):
    assert len(next(digits.load().shard(0, 100).batches(500))[1]) == 15


def test_mnist_as_keras_stores_it_is_read(digits, tmp_path):
    shapes = {"x_train": (20, 28, 28), "y_train": 20, "x_test": (10, 28, 28), "y_test": 10}
    random = np.random.default_rng(0)
    arrays = {
        name: random.integers(0, 256 if "x" in name else 10, shape, np.uint8)
        for name, shape in shapes.items()
    }
    np.savez(tmp_path / "mnist.npz", **arrays)
    data = digits.load(tmp_path / "mnist.npz")
    assert data.pixels == 784
    np.testing.assert_array_equal(data.test_labels, arrays["y_test"])
    assert data.train_images.max() <= 1.0


def write_nothing(path):
    pass


def write_text(path):
    path.write_text("no arrays here")


def write_half_an_archive(path):
    path.write_bytes((EXAMPLES / "mnist" / "digits.npz").read_bytes()[:2000])


def write_one_array(path):
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


def write_other_arrays(path):
    np.savez(path, x_train=np.zeros([2, 4]), labels=np.zeros(2))


def write_labels_of_others(path):
    images = np.zeros([2, 4])
    np.savez(path, x_train=images, y_train=np.zeros(3), x_test=images, y_test=np.zeros(2))


def write_letters(path):
    images, labels = np.zeros([2, 4]), np.array([3, 10])
    np.savez(path, x_train=images, y_train=labels, x_test=images, y_test=labels)


@pytest.mark.parametrize(
    "write, problem",
    [
        (write_nothing, "No such file or directory; --data wants a .npz file"),
        (write_text, "cannot be read as arrays; --data wants a .npz file"),
        (write_half_an_archive, "cannot be read as arrays; --data wants a .npz file"),
        (write_one_array, "cannot be read as arrays; --data wants a .npz file"),
        (write_other_arrays, "y_train, x_test, y_test missing; --data wants a .npz file"),
        (write_labels_of_others, r"x_train (2, 4) and y_train (3,) are not images and labels"),
        (write_letters, "y_train must hold digits from 0 to 9"),
    ],
)
def test_a_file_that_is_no_mnist_is_refused_in_one_line(digits, tmp_path, write, problem):
    path = tmp_path / "mnist.npz"
    write(path)
    with pytest.raises(SystemExit) as refused:
        digits.load(path)
    assert str(refused.value).startswith(f"{path}: {problem}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("accuracy", [0.899, float("nan")])
def test_an_accuracy_below_the_bound_ends_the_program(digits, accuracy):
    digits.report(0.9)
    with pytest.raises(SystemExit, match="should be at least"):
        digits.report(accuracy)


def test_an_elastic_training_loses_no_step_when_its_workers_become_four_and_then_one(tmp_path):
    program = (sys.executable, "examples/elastic.py", "--model_dir", tmp_path)
    assert_no_step_is_lost(program=program, cwd=EXAMPLES.parent)
