"""A Docker engine of our own, and images for it made out of this machine's packages.

No registry is asked. The file system of the base image is kept in a cache, outside of this
repository; everything else goes with the engine.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bounds import HANG
from tests.mesos.genuine.build import cache_directory, one_at_a_time

BASE = "tfmesos-tests/base"
IMAGE = "tfmesos/tfmesos"
PACKAGES = ("python3", "python3-pip", "python-is-python3", "libstdc++6")
REPOSITORY = Path(__file__).parents[2]


class CannotRun(Exception):
    """There can be no engine here; the message says why."""


def check_machine() -> None:
    if sys.platform != "linux":
        raise CannotRun("containers need Linux")
    if os.geteuid() != 0:
        raise CannotRun("an engine needs root")
    for program, package in (
        *(("dockerd", "docker.io"), ("docker", "docker.io"), ("debootstrap", "debootstrap")),
    ):
        if shutil.which(program) is None:
            raise CannotRun(f"{program} is missing: apt-get install {package}")


@contextmanager
def running_engine(directory: Path) -> Iterator[str]:
    """The address of an engine that has its images and containers in *directory*."""
    directory.mkdir(parents=True)
    address = f"unix://{directory}/docker.sock"
    command = ["dockerd", "--host", address, "--pidfile", f"{directory}/pid"]
    command += ["--data-root", f"{directory}/data", "--exec-root", f"{directory}/exec"]
    log = (directory / "log").open("wb")
    process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        wait_for_answer(process, address, directory / "log")
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(HANG)
        log.close()
        unmount_all(directory)
        shutil.rmtree(directory)


def unmount_all(directory: Path) -> None:
    """An engine leaves the network of the host mounted when it ends."""
    mounted = (line.split()[1] for line in Path("/proc/mounts").read_text().splitlines())
    for place in [path for path in mounted if path.startswith(f"{directory}/")]:
        subprocess.run(["umount", "--lazy", place], check=True)


def wait_for_answer(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    end = time.monotonic() + HANG
    asked = ["docker", "--host", address, "version"]
    while subprocess.run(asked, capture_output=True).returncode:
        if process.poll() is not None or time.monotonic() > end:
            last = log.read_text(errors="replace").splitlines()[-1:]
            raise CannotRun(f"dockerd does not start: {''.join(last)}")
        time.sleep(0.1)


def import_base(address: str) -> None:
    """A small Debian with Python, under the name BASE; and as what the recordings ran in."""
    with root_file_system().open("rb") as tar:
        docker(address, "import", "-", BASE, stdin=tar)
    docker(address, "tag", BASE, "busybox:latest")


def root_file_system() -> Path:
    """A tar of it, made when this is the first call on this machine."""
    mirror, suite = package_source()
    wanted = " ".join((suite, platform.machine(), *PACKAGES))
    cache = cache_directory()
    tar = cache / f"base-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}.tar"
    with one_at_a_time(cache):
        if not tar.exists():
            make_root_file_system(tar, suite, mirror)
    return tar


def make_root_file_system(tar: Path, suite: str, mirror: str) -> None:
    """Everything in a new directory first, so that no half of it is ever found."""
    work = tar.with_suffix(".new")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    try:
        included = f"--include={','.join(PACKAGES)}"
        run("debootstrap", "--variant=minbase", included, suite, work / "root", mirror)
        unneeded = ("./var/cache/apt", "./var/lib/apt/lists", "./usr/share/doc", "./usr/share/man")
        excluded = [f"--exclude={path}/*" for path in unneeded]
        run("tar", "-C", work / "root", *excluded, "-cf", work / "tar", ".")
        (work / "tar").rename(tar)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def package_source() -> tuple[str, str]:
    """The mirror and the release of this machine's own packages."""
    form = ("--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages")
    for line in run("apt-get", "indextargets", *form).splitlines():
        mirror, suite, component = line.split()
        if component == "main" and "-" not in suite:
            return mirror, suite
    raise CannotRun("apt names no source of packages")


def build_image(address: str) -> None:
    """The image of this project, as its users build it, but on our base and without TensorFlow."""
    variables = (
        "BASE=" + BASE,
        "EXTRAS=zk",
        "IMAGE=" + IMAGE,
        f"BIN={Path(sys.executable).parent}",
    )
    run("make", "--silent", "-C", REPOSITORY, "image", *variables, DOCKER_HOST=address)


def docker(address: str, *arguments: object, **options: object) -> str:
    command = ["docker", "--host", address, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise CannotRun(f"docker {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout


def run(*command: object, **variables: str) -> str:
    words, env = [str(word) for word in command], {**os.environ, **variables}
    done = subprocess.run(words, capture_output=True, text=True, env=env)
    if done.returncode:
        raise CannotRun(f"{command[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
