"""slurmdbd with its database: a cluster beside which it runs holds jobs to accounts and QOS."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.mesos.genuine.cluster import wait_until
from tests.ports import free_port

PROGRAMS = ("mariadbd", "mariadb-install-db", "slurmdbd", "sacctmgr")
ACCOUNT = "ml"  # that of root, who runs the tests
QOS = {  # name -> its limits
    "normal": (),
    "single": ("MaxJobsPerUser=1",),
    "tiny": ("MaxTRESPerJob=cpu=1", "Flags=DenyOnLimit"),
}

Start = Callable[..., None]  # a daemon, by its name and its command
Run = Callable[..., subprocess.CompletedProcess[str]]  # a command of Slurm


class Accounting:
    def __init__(self, home: Path) -> None:
        self._home = home
        self._port, self._database_port = free_port(), free_port()

    def configuration(self) -> list[str]:
        """Lines of slurm.conf."""
        return [
            "AccountingStorageType=accounting_storage/slurmdbd",
            "AccountingStorageHost=127.0.0.1",
            f"AccountingStoragePort={self._port}",
            f"AccountingStoragePass={self._home}/munge.sock",  # Slurm takes it for munge's socket
            "AccountingStorageEnforce=associations,limits,qos",
        ]

    def start(self, start: Start, run: Run) -> None:
        """Both daemons, and then the accounts that Slurm's controller will find."""
        self._make_files()
        data, port = self._home / "database", self._database_port
        start(
            "mariadbd",
            *("mariadbd", "--no-defaults", "--user=root", f"--datadir={data}"),
            *("--bind-address=127.0.0.1", f"--port={port}", f"--socket={data}/socket"),
            *("--skip-name-resolve", f"--init-file={data}/init.sql"),
            *("--innodb-buffer-pool-size=32M", "--innodb-lock-wait-timeout=900"),
        )
        wait_until("the database is up", (data / "socket").exists)
        start("slurmdbd", "slurmdbd", "-D")
        wait_until("slurmdbd is up", lambda: is_listening(self._port))
        names = ",".join(QOS)
        for words in (
            ("add", "cluster", "test"),
            *(("add", "qos", name, *limits) for name, limits in QOS.items() if limits),
            ("add", "account", ACCOUNT),
            ("add", "user", "root", f"Account={ACCOUNT}", f"QOS={names}", "DefaultQOS=normal"),
            ("modify", "user", "root", "set", f"DefaultAccount={ACCOUNT}"),
        ):
            done = run("sacctmgr", "--immediate", *words)
            assert done.returncode == 0, (words, done.stdout, done.stderr)

    def _make_files(self) -> None:
        data, password = self._home / "database", os.urandom(8).hex()
        words = ["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}"]
        subprocess.run([*words, "--skip-test-db"], check=True, capture_output=True)
        (data / "init.sql").write_text(
            "CREATE DATABASE accounts;\n"
            f"CREATE USER slurm@'127.0.0.1' IDENTIFIED BY '{password}';\n"
            "GRANT ALL ON accounts.* TO slurm@'127.0.0.1';\n"
        )
        conf = self._home / "slurmdbd.conf"
        conf.touch(0o600)
        lines = {
            "DbdHost": "localhost",
            "DbdAddr": "127.0.0.1",
            "DbdPort": self._port,
            "SlurmUser": "root",
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={self._home}/munge.sock",
            "PidFile": f"{self._home}/run/slurmdbd.pid",
            "StorageType": "accounting_storage/mysql",
            "StorageHost": "127.0.0.1",
            "StoragePort": self._database_port,
            "StorageUser": "slurm",
            "StoragePass": password,
            "StorageLoc": "accounts",
        }
        conf.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))


def is_listening(port: int) -> bool:
    """sacctmgr waits for long if nobody does."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def missing(path: str) -> str:
    """The first program that is not there."""
    return next((name for name in PROGRAMS if not shutil.which(name, path=path)), "")
