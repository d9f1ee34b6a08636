"""How many sites at once this machine has room for: by open files and by memory."""

from __future__ import annotations

import resource
from pathlib import Path

__all__ = ["room_for"]

FILES_OF_PROCESS = 64  # besides those of its sites: libraries, logs, the pipes of a browser
FILES_OF_SITE = (
    12  # measured: 7 while it runs (state, its log, archive, events, a connection), 11 while its files are written
)
BYTES_OF_PROCESS = 200_000_000  # measured: 145 MB with one site
BYTES_OF_SITE = 8_000_000  # measured: 7 MB each in the first twenty requests of 16 sites, 3 with 24, 1.1 with 100; what it keeps is below 1
MEMORY_SHARE = 0.5  # of what is free
# A process: one core reads about 40 answers a second, so at a request a second each it has enough to do with a third of these. With 256 a
# thousand sites took 1.6 GB.
MOST = 128


def room_for(processes: int) -> int:
    """Sites that all processes together may have at once, at least one each; raises the soft limit of open files where it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        wanted = FILES_OF_PROCESS + FILES_OF_SITE * MOST
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, max(soft, wanted))
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    by_files = (soft - FILES_OF_PROCESS) // FILES_OF_SITE if soft != resource.RLIM_INFINITY else MOST
    by_memory = int((MEMORY_SHARE * _free_bytes() / processes - BYTES_OF_PROCESS) // BYTES_OF_SITE)
    return processes * max(1, min(by_files, by_memory, MOST))


def _free_bytes() -> int:
    """Memory that can be had without swapping, within the limits of a container."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    free = [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    limit, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    if limit.is_file() and used.is_file() and (text := limit.read_text(encoding="ascii").strip()).isdigit():
        free.append(int(text) - int(used.read_text(encoding="ascii")))
    return max(0, min(free))
