import ast
import re
from pathlib import Path

import pytest

import tfmesos
from tfmesos.cli.arguments import build_parser, flag_of
from tfmesos.launcher.screen.hints import _HINTS, hint

KERAS_UNDER_PARAMETER_SERVERS = [
    '  File "site-packages/keras/src/utils/traceback_utils.py", line 122, in error_handler',
    "ValueError: To use this dataset, you need to pass this dataset to "
    "ClusterCoordinator.create_per_worker_dataset.",
]
KERAS_UNDER_MIRRORED_WORKERS = [
    "}) with an unsupported type (<class 'tensorflow.python.distribute.values.PerReplica'>) "
    "to a Tensor."
]


@pytest.mark.parametrize(
    "tail, way_out",
    [
        (KERAS_UNDER_PARAMETER_SERVERS, "TF_USE_LEGACY_KERAS=1"),
        (KERAS_UNDER_MIRRORED_WORKERS, "TF_USE_LEGACY_KERAS=1"),
        (KERAS_UNDER_MIRRORED_WORKERS, "keras.distribution on JAX"),
        (["ModuleNotFoundError: No module named 'tensorflow'"], "has no TensorFlow"),
        (["cannot serve: TensorFlow cannot be imported by python (x)"], "has no TensorFlow"),
        (["sh: 1: exec: python3: not found"], "no such Python"),
        (
            ['could not be started: exec: "/no/python": stat /no/python: no such file'],
            "no such Python",
        ),
        (["OSError: [Errno 98] Address already in use"], "SO_REUSEADDR"),
        (["TBNotInstalledError: TensorBoard is not installed, missing x"], "install tensorboard"),
        (["ModuleNotFoundError: No module named 'tensorboard'"], "install tensorboard"),
        (
            ['ValueError: If "cluster" is set in TF_CONFIG, it must have one "chief" node.'],
            "an Estimator needs a chief",
        ),
    ],
)
def test_a_well_known_failure_comes_with_a_way_out(tail, way_out):
    assert way_out in hint(["something before", *tail])


def test_an_unknown_failure_is_left_to_speak_for_itself():
    assert hint(["ValueError: No module named 'tensorflow_datasets'"]) == ""
    assert hint([]) == ""


def test_a_hint_names_flags_to_a_user_of_tfrun_and_fields_to_one_of_the_library():
    tail = ["sh: 1: exec: python3: not found"]
    assert hint(tail, named=flag_of).endswith("name its interpreter (--python)")
    assert hint(tail).endswith("name its interpreter (python)")


def test_every_setting_that_a_hint_names_has_a_flag():
    settings = set(re.findall(r"{(\w+)}", " ".join(way_out for _, way_out in _HINTS)))
    assert settings and all(flag_of(setting).startswith("-") for setting in settings)


def test_of_a_killed_task_it_is_said_who_kills():
    for reason in (
        "",
        "was killed by SIGKILL (signal 9)",
        "failed: its initializer exited with 137",
    ):
        assert "runs out of memory" in hint(["Killed"], 137, reason)
    assert hint(["Killed"], code=1) == ""


def test_a_kill_whose_cause_is_known_needs_no_hint():
    assert hint(["Killed"], 137, "ran out of memory and was killed by SIGKILL (signal 9)") == ""
    assert hint(["Killed"], 137, "was killed: out of memory") == ""
    assert hint(["Killed"], 137, "had to make room for a pod of higher priority") == ""
    assert hint([], 137, "was ended by its node: it was killed by SIGKILL (signal 9)") == ""


def _strings(path):
    """The texts of a module that may be shown: all but those that stand alone as documentation."""
    tree = ast.parse(path.read_text())
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (n for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in alone)
    return [node.value for node in texts if isinstance(node.value, str)]


def test_only_the_command_line_speaks_of_its_flags():
    """The library has fields: whoever names a setting asks the console how it is called."""
    flags = {flag for action in build_parser()._actions for flag in action.option_strings}
    flags = {flag for flag in flags if flag.startswith("--") and flag != "--version"}
    package = Path(tfmesos.__file__).parent
    tables = [path for path in package.glob("config/*.py") if "Setting(" in path.read_text()]
    with_flags = {
        *(package / "tfrun.py", package / "command_line.py", *tables),
        *package.glob("cli/**/*"),
        *(
            package / "engines" / "local" / name for name in ("docker.py", "docker_arguments.py")
        ),  # Docker's
        *(
            package / "engines" / "slurm" / name
            for name in ("request.py", "setup.py", "job_ends.py")
        ),  # Slurm's
        package / "runs" / "page" / "site.py",  # which calls tfrun
    }
    said = [
        (path.name, text)
        for path in package.rglob("*.py")
        if path not in with_flags
        for text in _strings(path)
        if flags & set(re.findall(r"--[a-z-]+", text))
    ]
    assert said == []
