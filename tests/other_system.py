"""`python -m tests.other_system macos|windows ARGUMENTS…`: run the `upwell` command with what the system lacks taken away.

Python itself and the libraries below the command are of the system that the test runs on, so they are loaded first. What is hidden is
what `upwell` could ask for: modules, functions, flags and files that macOS or Windows do not have. `msvcrt` is the one module that Windows
adds; here it locks the same bytes of the same file with `fcntl.lockf`.
"""

import builtins
import errno
import importlib
import io
import os
import runpy
import signal
import sys
import sysconfig
import types
from typing import Any

LOADED_BEFORE = (
    *("asyncio", "multiprocessing.connection", "multiprocessing.pool", "sqlite3", "ctypes", "webbrowser", "getpass", "unittest.mock"),
    *("aiohttp.web", "backports.zstd", "brotli", "chardetng_py", "dateparser.search", "duckdb", "fastwarc.warc", "jinja2", "msgpack"),
    *("numpy.random", "price_parser", "protego", "psutil", "Stemmer", "rich.progress", "selectolax.lexbor", "stop_words", "tantivy"),
    *("tantivy", "typer", "w3lib.url", "xlsxwriter"),
)  # fmt: skip
ONLY_LINUX = ("sched_getaffinity", "sched_setaffinity", "memfd_create", "pidfd_open")
ONLY_POSIX = (
    *("fork", "forkpty", "getuid", "geteuid", "getgid", "getegid", "chown", "fchown", "pread", "pwrite", "mkfifo", "setsid"),
    *("killpg", "getpgid", "setpgid", "uname", "WNOHANG", "sysconf", "getloadavg", "nice", "umask", "pipe2", "statvfs"),
    *("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY", "O_SYNC", "O_NDELAY", "O_NOCTTY"),
)  # fmt: skip
ONLY_POSIX_SIGNALS = (
    "SIGKILL",
    "SIGSTOP",
    "SIGHUP",
    "SIGUSR1",
    "pthread_sigmask",
    "pthread_kill",
    "SIG_BLOCK",
    "SIG_UNBLOCK",
    "pause",
)


def _is_asked_by_upwell() -> bool:
    frame = sys._getframe(2)
    while frame.f_back is not None and "pathlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return f"{os.sep}upwell{os.sep}" in frame.f_code.co_filename


def _hide_files(*roots: str) -> None:
    """Let `upwell` find no files below these folders; psutil of Linux needs them."""

    def hidden(function: Any) -> Any:
        def call(path: Any, *arguments: Any, **named: Any) -> Any:
            if isinstance(path, str | os.PathLike) and os.fspath(path).startswith(roots) and _is_asked_by_upwell():
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
            return function(path, *arguments, **named)

        return call

    builtins.open = hidden(builtins.open)
    io.open = builtins.open  # what `Path.open` calls  # what `Path.open` calls
    for name in ("open", "stat", "lstat", "listdir", "scandir"):
        wrapped = hidden(getattr(os, name))
        os.supports_dir_fd.add(wrapped) if getattr(os, name) in os.supports_dir_fd else None
        setattr(os, name, wrapped)


def _lock_module() -> types.ModuleType:
    """Return a `msvcrt` that locks the bytes at the position of a file."""
    import fcntl

    module = types.ModuleType("msvcrt")

    def locking(descriptor: int, mode: int, size: int) -> None:
        command = fcntl.LOCK_UN if mode == module.LK_UNLCK else fcntl.LOCK_EX
        fcntl.lockf(descriptor, command, size, os.lseek(descriptor, 0, os.SEEK_CUR))

    module.LK_UNLCK, module.LK_LOCK, module.locking = 0, 1, locking  # type: ignore[attr-defined]
    return module


def become(system: str) -> None:
    """Take away from this process what a system does not have."""
    _hide_files("/proc", "/sys")
    for name in ONLY_LINUX:
        os.__dict__.pop(name, None)
    if system == "macos":
        sys.platform = "darwin"
        return
    locks = _lock_module()
    for module in ("fcntl", "resource", "pwd", "grp", "termios", "syslog"):
        sys.modules[module] = None  # type: ignore[assignment] # an import of it fails
    sys.modules["msvcrt"] = locks
    for name in ONLY_POSIX:
        os.__dict__.pop(name, None)
    for name in ONLY_POSIX_SIGNALS:
        signal.__dict__.pop(name, None)
    os.supports_dir_fd.clear()


if __name__ == "__main__":
    for module in LOADED_BEFORE:
        importlib.import_module(module)
    sysconfig.get_config_vars()
    become(sys.argv.pop(1))
    runpy.run_module("upwell", run_name="__main__", alter_sys=False)
