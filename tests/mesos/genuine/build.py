"""Build what runs a genuine Mesos out of libmesos: kept in a cache, outside of this repository.

libmesos needs old OpenSSL, curl and Python only to be loaded, never to be called (TLS is off):
stubs that abort stand in for them.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

from . import egg

SOURCES = Path(__file__).parent
PROGRAMS = {"mesos-executor": "executor.py"}
STAND_INS = ("libssl.so.1.0.0", "libcrypto.so.1.0.0", "libcurl.so.4")
DATA_SYMBOLS = ("PyExc_", "_Py_None")
PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))


class CannotRun(Exception):
    """There can be no genuine Mesos here; the message says why."""


def rig() -> Path:
    """The directory with mesos-host, built when this is the first call on this machine."""
    check_machine()
    cache = cache_directory()
    with one_at_a_time(cache):
        library = cache / egg.SHA256[:12] / egg.LIBRARY
        if not library.exists():
            library.parent.mkdir(exist_ok=True)
            run(sys.executable, "-W", "ignore", SOURCES / "egg.py", library.parent)
        done = cache / f"rig-{fingerprint()}"
        if not done.exists():
            build(library, done)
        check_libraries(done)
        return done


def check_machine() -> None:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise CannotRun("libmesos is there for Linux on x86_64 only")
    for program, package in (("g++", "g++"), ("gcc", "g++"), ("nm", "binutils")):
        if shutil.which(program) is None:
            raise CannotRun(f"{program} is missing: apt-get install {package}")


def check_libraries(rig: Path) -> None:
    found = subprocess.run(["ldd", rig / "mesos-host"], capture_output=True, text=True).stdout
    missing = [line.split()[0] for line in found.splitlines() if "not found" in line]
    if missing:
        raise CannotRun(f"{', '.join(missing)} are missing: apt-get install libsvn1")


def cache_directory() -> Path:
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    directory = Path(caches) / "tfmesos-tests"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@contextmanager
def one_at_a_time(cache: Path):
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fingerprint() -> str:
    files = ["host.cpp", "build.py", *PROGRAMS.values()]
    contents = b"".join((SOURCES / name).read_bytes() for name in files)
    return hashlib.sha256(contents + PYTHON.encode()).hexdigest()[:12]


def build(library: Path, target: Path) -> None:
    """Everything in a new directory first, so that no half of a rig is ever found."""
    work = target.with_suffix(".new")
    shutil.rmtree(work, ignore_errors=True)
    for name in ("lib", "libexec"):
        (work / name).mkdir(parents=True)
    (work / "lib" / egg.LIBRARY).symlink_to(library)
    write_stubs(library, work)
    for name in STAND_INS:
        compile_stub(work, name)
    compile_host(work, target)
    install_programs(work / "libexec")
    work.rename(target)


def undefined_symbols(library: Path) -> dict[str, list[str]]:
    """The names the stubs have to define, under the version that libmesos asks for."""
    symbols = defaultdict(list)
    for line in run("nm", "-D", "--undefined-only", library).splitlines():
        name, _, version = line.split()[-1].partition("@")
        if version.startswith(("OPENSSL_", "CURL_")) or name.startswith(("Py", "_Py")):
            symbols[version.lstrip("@")].append(name)
    return symbols


def write_stubs(library: Path, work: Path) -> None:
    symbols = undefined_symbols(library)
    definitions = "\n".join(stub(name) for names in symbols.values() for name in names)
    (work / "stub.c").write_text(f"#include <stdio.h>\n#include <stdlib.h>\n{definitions}\n")
    versions = [f"{v} {{ global: {'; '.join(names)}; }};" for v, names in symbols.items() if v]
    (work / "stub.map").write_text("\n".join(versions))


def stub(name: str) -> str:
    if name.startswith(DATA_SYMBOLS):
        return f"char {name}[64];"
    return f'void {name}(void) {{ fputs("stub called: {name}\\n", stderr); abort(); }}'


def compile_stub(work: Path, name: str) -> None:
    linker = f"-Wl,-soname,{name},--version-script={work}/stub.map"
    flags = ("-w", "-shared", "-fPIC", "-fno-builtin", linker)
    run("gcc", *flags, "-o", work / "lib" / name, work / "stub.c")


def compile_host(work: Path, target: Path) -> None:
    # An rpath of the old kind: it must serve what libmesos itself needs, too.
    linker = f"-Wl,--allow-shlib-undefined,--disable-new-dtags,-rpath,{target}/lib"
    libraries = (f"-L{work}/lib", f"-l:{egg.LIBRARY}", linker)
    flags = ("-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror")
    run("g++", *flags, "-o", work / "mesos-host", SOURCES / "host.cpp", *libraries)


def install_programs(libexec: Path) -> None:
    (libexec / "mesos-containerizer").symlink_to("../mesos-host")
    for name, source in PROGRAMS.items():
        program = libexec / name
        program.write_text(f"#!{PYTHON} -IS\n" + (SOURCES / source).read_text())
        program.chmod(0o755)


def run(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise CannotRun(f"{command[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
