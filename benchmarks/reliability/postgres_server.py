"""PostgreSQL server for tests and benchmarks: Debian's, in a temporary folder, listening on a socket there."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Literal

import psycopg

__all__ = ["NotInstalled", "PostgresServer"]

BINARIES = "/usr/lib/postgresql"  # where Debian installs them, one folder per version
SIGNALS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}  # signals for the modes of pg_ctl
SECONDS_TO_START = 60.0


class NotInstalled(Exception):
    """No PostgreSQL server is installed on this machine."""


class PostgresServer:
    """Server that runs inside `with`; it can be stopped and started again."""

    def __init__(self, *settings: str) -> None:
        self._bin = _binaries()
        self._settings = ("listen_addresses=", "fsync=off", "max_connections=60", *settings)
        self._user = (
            "postgres" if os.getuid() == 0 else None
        )  # it refuses to run as root; Debian's package creates the user
        self.folder = Path(tempfile.mkdtemp(prefix="upwell-pg-"))
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "PostgresServer":
        if self._user:
            shutil.chown(self.folder, self._user, self._user)
        subprocess.run(
            [self._bin / "initdb", "-D", self.folder / "data", "-U", "upwell", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "-A", "trust"],
            check=True, user=self._user, cwd=self.folder, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        access = self.folder / "data" / "pg_hba.conf"
        access.write_text("local all guarded scram-sha-256\nlocal all all trust\n")
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop("immediate")
        shutil.rmtree(self.folder)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        settings = [part for setting in self._settings for part in ("-c", setting)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self.folder / "data", "-k", self.folder, *settings],
                user=self._user, cwd=self.folder, stdout=log, stderr=log,
            )  # fmt: skip
        began = time.monotonic()
        while subprocess.run([self._bin / "pg_isready", "-q", "-h", self.folder]).returncode:
            if self._process.poll() is not None or time.monotonic() - began > SECONDS_TO_START:
                raise RuntimeError((self.folder / "log").read_text()[-2000:])
            time.sleep(0.05)

    def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop the server, cleanly or as in a crash."""
        if self._process is not None:
            self._process.send_signal(SIGNALS[mode])
            self._process.wait()
            self._process = None

    def address(self, database: str = "postgres", *, user: str = "upwell", password: str = "") -> str:
        """Return the URL of a database, which is created if necessary."""
        with psycopg.connect(host=str(self.folder), user="upwell", dbname="postgres", autocommit=True) as db:
            if not db.execute("SELECT 1 FROM pg_database WHERE datname = %s", (database,)).fetchone():
                db.execute(f'CREATE DATABASE "{database}"')
        login = f"{user}:{password}" if password else user
        return f"postgresql://{login}@/{database}?host={self.folder}"


def _binaries() -> Path:
    """Return the folder with the programs of the newest server."""
    versions = sorted(Path(BINARIES).glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if versions:
        return versions[-1].parent
    if found := shutil.which("initdb"):
        return Path(found).parent
    raise NotInstalled("PostgreSQL's server is not installed; Debian: apt-get install postgresql")
