"""Build a genuine Kubernetes out of Debian 12's packages: kept in a cache, outside of this
repository.

Debian 12 has Kubernetes as a source package that carries all it needs; only its client is there
as a program. Source and Go are unpacked into a temporary directory; nothing is installed. It takes
14 minutes of CPU and 3.5 GB, once. ``python -m tests.kubernetes.genuine.build`` does it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.mesos.genuine.build import cache_directory

BUILT = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")
JOBS = 2
# The one that Kubernetes carries is too old for Go 1.18 and newer: with it an API server dies of
# the first custom resource.
RENEWED = ("golang-github-modern-go-reflect2-dev", "github.com/modern-go/reflect2")
RECIPE = 2  # of what is built; another number, and it is built anew
NEEDED = (
    *(("dpkg-source", "dpkg-dev"), ("make", "make"), ("rsync", "rsync"), ("gcc", "gcc")),
    ("apt-cache", "apt (this is no Debian)"),
)


class CannotRun(Exception):
    """There can be no genuine Kubernetes here; the message says why."""


def programs() -> Path:
    """The directory with the programs, built when this is the first call on this machine."""
    check_machine()
    version = candidate("kubernetes-client")
    cache = cache_directory()
    kept = cache / f"kubernetes-{version}-{RECIPE}"
    with (cache / "kubernetes.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            build(kept, version)
    return kept


def check_machine() -> None:
    if sys.platform != "linux":
        raise CannotRun("nodes need Linux")
    for program, package in NEEDED:
        if shutil.which(program) is None:
            raise CannotRun(f"{program} is missing: apt-get install {package}")


def candidate(package: str) -> str:
    """The version apt would install, known without asking the network."""
    for line in run("apt-cache", "policy", package).splitlines():
        if line.strip().startswith("Candidate: ") and "(none)" not in line:
            return line.split()[1]
    raise CannotRun(f"apt knows no {package}: is this Debian 12, and was apt-get update run?")


def build(kept: Path, version: str) -> None:
    """Everything in a new directory first, so that no half of it is ever found."""
    with tempfile.TemporaryDirectory(prefix="kubernetes-build-", dir=kept.parent) as name:
        work = Path(name)
        new = work / "programs"
        new.mkdir()
        source, go = get_source(work, version), get_go(work)
        renew(source, work)
        for program in compiled(source, go):
            shutil.copy2(program, new)
        run("gcc", "-Os", "-static", "-o", new / "pause", source / "build/pause/linux/pause.c")
        shutil.copy2(unpack(work, "etcd-server") / "usr/bin/etcd", new)
        shutil.copy2(unpack(work, "kubernetes-client") / "usr/bin/kubectl", new)
        check_programs(new, upstream(version))
        new.rename(kept)


def check_programs(directory: Path, version: str) -> None:
    for name in BUILT:
        said = run(directory / name, "--version").strip()
        if said != f"Kubernetes v{version}":
            raise CannotRun(f"{name} says it is {said!r}, not v{version}")


def upstream(version: str) -> str:
    """1.20.5+really1.20.2-1.1+deb12u1 is the 1.20.2 of upstream."""
    return re.sub(r".*\+really", "", version).partition("-")[0]


def get_source(work: Path, version: str) -> Path:
    """The unpacked source. apt checks the signatures; it reads and writes only below *work*."""
    places = work / "sources.list"
    places.write_text("".join(f"{line}\n" for line in source_lines()))
    (work / "lists/partial").mkdir(parents=True)
    (work / "apt/archives/partial").mkdir(parents=True)
    ours = {
        "Dir::Etc::SourceList": places,
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": work / "lists",
        "Dir::Cache": work / "apt",
        "APT::Sandbox::User": "root",  # or the user _apt would have to read all of *work*
    }
    apt = ["apt-get", "-q", *(f"-o{name}={value}" for name, value in ours.items())]
    run(*apt, "update")
    run(*apt, "source", f"kubernetes={version}", cwd=work)
    (source,) = (path for path in work.glob("kubernetes-*") if path.is_dir())
    return source


def source_lines() -> Iterable[str]:
    """A deb-src line for each place this machine has its Debian packages from."""
    form = ("--format", "deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)")
    found = run("apt-get", "indextargets", *form, "Created-By: Packages", "Origin: Debian")
    return sorted(set(found.splitlines()))


def renew(source: Path, work: Path) -> None:
    package, path = RENEWED
    old = source / "vendor" / path
    shutil.rmtree(old)
    shutil.copytree(unpack(work, package) / "usr/share/gocode/src" / path, old)


def get_go(work: Path) -> Path:
    unpack(work, "golang-1.19-src")
    return unpack(work, "golang-1.19-go") / "usr/lib/go-1.19"


def unpack(work: Path, package: str) -> Path:
    """The files of a package, which is neither installed nor started."""
    debs, root = work / "debs" / package, work / "root"
    debs.mkdir(parents=True)
    run("apt-get", "-q", "-oAPT::Sandbox::User=root", "download", package, cwd=debs)
    (deb,) = debs.glob("*.deb")
    run("dpkg-deb", "--extract", deb, root)
    return root


def compiled(source: Path, go: Path) -> list[Path]:
    """``make`` generates code before it compiles; ``go build`` alone would not do."""
    home = source.parent / "home"
    home.mkdir(exist_ok=True)
    variables = {
        "PATH": f"{go / 'bin'}:{os.environ['PATH']}",
        "GOROOT": go,
        "HOME": home,  # of Go's build cache
        "GOPROXY": "off",  # all is in the package; nothing may come from elsewhere
        "GOFLAGS": f"-p={JOBS}",
        "GOMAXPROCS": JOBS,
        "CGO_ENABLED": 0,
    }
    wanted = " ".join(f"cmd/{name}" for name in BUILT)
    run("make", f"WHAT={wanted}", cwd=source, **variables)
    return [source / "_output/bin" / name for name in BUILT]


def run(*command: object, cwd: Path | None = None, **variables: object) -> str:
    words = [str(word) for word in command]
    env = {**os.environ, "LC_ALL": "C.UTF-8", **{key: str(it) for key, it in variables.items()}}
    done = subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=env)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise CannotRun(f"{' '.join(words[:4])} failed: {' / '.join(said[-5:])}")
    return done.stdout


if __name__ == "__main__":
    try:
        print(programs())
    except CannotRun as reason:
        sys.exit(f"no genuine Kubernetes can be built here: {reason}")
