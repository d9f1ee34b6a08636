"""Write files of a harvest's folder without following links, and recognize errors of the disk.

The folder may come from somebody else. A symbolic link in it, in place of a file or of a folder, would let Upwell overwrite any file of the user.
"""

import errno
import os
import sqlite3
from pathlib import Path

from upwell.operating_system import open_in_folder

__all__ = ["disk_problem", "file_problem", "open_without_links", "write_whole"]

DISK_ERRORS = (
    errno.ENOSPC,
    getattr(errno, "EDQUOT", errno.ENOSPC),  # Windows has no quotas of this kind
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EIO,
    errno.ELOOP,
    errno.ENOTDIR,
)
FULL = (
    "disk is full",
    "disk I/O error",
    "readonly database",
    "unable to open database",
    "No space left",
    "File too large",
    "Permission denied",
)


def open_without_links(path: str, flags: int) -> int:
    """Open a file as the `opener` of `open`; raise OSError if the file or its folder is a symbolic link, or the file is a pipe or device."""
    folder, name = os.path.split(path)
    return open_in_folder(folder, name, flags)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that readers see the old content or the new one; a full disk leaves the old one."""
    partial = path.with_name(f".{path.name}.part")
    data = content.encode() if isinstance(content, str) else content
    try:
        with open(partial, "wb", opener=open_without_links) as file:
            file.write(data)
        partial.replace(path)
    except OSError:
        if not partial.is_symlink():
            partial.unlink(missing_ok=True)
        raise


def disk_problem(error: BaseException | None) -> str:
    """Return what the disk or the folder refused if that caused an error, in words; "" if something else did."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            return str(error.strerror or error)
        is_database = isinstance(error, sqlite3.Error) or type(error).__module__.partition(".")[0] in (
            "duckdb",
            "_duckdb",
        )
        if is_database and any(text in str(error) for text in FULL):
            return " ".join(str(error).split())[:200]
        error = error.__cause__ or error.__context__
    return ""


def file_problem(error: BaseException) -> str:
    """Return which file or folder was refused and why, for an error that no verb explains better; "" if none was."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return disk_problem(error)
