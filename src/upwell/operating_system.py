"""What operating systems have or lack: flags of files, file locks, processes, and limits on resources.

Linux has everything below. macOS has no memfd, no CPU affinity and no /proc; Windows has none of `fcntl`, `resource`, `fork` and user ids
either. The rest of the code asks this module instead of the name of the system.
"""

import errno
import os
import signal

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:  # everywhere else
    msvcrt = None  # type: ignore[assignment]
try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

__all__ = [
    "CAN_FORK",
    "CAN_SUPERVISE",
    "KILL",
    "PRIVATE_FLAGS",
    "core_count",
    "is_own",
    "limit_address_space",
    "lock_file",
    "max_open_files",
    "open_in_folder",
    "process_exists",
    "read_at",
    "unlock_file",
    "user_id",
    "write_at",
]

# True if this process can be copied. What a copy needs (signal masks, waiting without blocking) exists wherever `fork` does.
CAN_FORK = hasattr(os, "fork")
# True if a process can be given pipes and shared memory by their descriptors, which supervised workers need.
CAN_SUPERVISE = CAN_FORK and hasattr(signal, "pthread_sigmask")
# Signal that ends a process at once; on Windows `os.kill` does so for every signal of this kind.
KILL: int = getattr(signal, "SIGKILL", signal.SIGTERM)
# Flags of a file in which Upwell keeps something: never a link, never a pipe that blocks, not inherited, and no translated line ends.
PRIVATE_FLAGS: int = sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOINHERIT", "O_BINARY")
)
FOLDER_FLAGS: int = sum(getattr(os, name, 0) for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC"))
MAX_PROCESS_ID = 2**31 - 1  # a number in a damaged file may be larger


def core_count() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def process_exists(number: int) -> bool:
    """Return True if there is a process with this id."""
    import psutil

    return 0 < number <= MAX_PROCESS_ID and bool(psutil.pid_exists(number))


def user_id() -> int:
    """Return the number of the user; 0 where users have none."""
    return os.getuid() if hasattr(os, "getuid") else 0


def is_own(status: os.stat_result, others_may: int = 0) -> bool:
    """Return True if a file belongs to this user and gives others none of the permissions `others_may`; Windows keeps both elsewhere."""
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & others_may)


def open_in_folder(folder: str, name: str, flags: int) -> int:
    """Open a file of a folder; raise OSError if either is a symbolic link, or the file is a pipe that nobody reads.

    Where a folder cannot be opened, its links are looked for before, which does not see one that is made in the same moment.
    """
    if os.open not in os.supports_dir_fd:
        path = os.path.join(folder, name)
        if os.path.islink(folder) or os.path.islink(path):
            raise OSError(errno.ELOOP, "is a symbolic link", path)
        return os.open(path, flags | PRIVATE_FLAGS, 0o666)
    parent = os.open(folder or ".", os.O_RDONLY | FOLDER_FLAGS)
    try:
        return os.open(name, flags | PRIVATE_FLAGS, 0o666, dir_fd=parent)
    finally:
        os.close(parent)


def read_at(descriptor: int, size: int, offset: int) -> bytes:
    """Return bytes of an open file at an offset."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, size)


def write_at(descriptor: int, data: bytes, offset: int) -> int:
    """Write bytes into an open file at an offset; return how many were written."""
    if hasattr(os, "pwrite"):
        return os.pwrite(descriptor, data, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.write(descriptor, data)


def lock_file(descriptor: int) -> None:
    """Wait for the lock of an open file, which excludes other processes."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    while msvcrt is not None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
        except OSError:  # it gives up after ten attempts, one each second
            continue
        return


def unlock_file(descriptor: int) -> None:
    """Release the lock of an open file."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    elif msvcrt is not None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)


def max_open_files(wanted: int) -> int | None:
    """Return how many files this process may have open, after raising the limit to `wanted` if it may; None: there is no limit."""
    if resource is None:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        raised = wanted if hard == resource.RLIM_INFINITY else min(hard, max(soft, wanted))
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            soft = raised
        except (ValueError, OSError):  # macOS has a lower limit than the one it states
            pass
    return None if soft == resource.RLIM_INFINITY else soft


def limit_address_space(size: int) -> bool:
    """Limit the address space of this process to `size` bytes; return False where that is not possible."""
    if resource is None:
        return False
    try:
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    except (ValueError, OSError):  # macOS
        return False
    return True
