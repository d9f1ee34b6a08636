"""CPU time of several functions over the same pages, alternating, so that other programs on the machine slow all of them equally."""

import ctypes
import time
from collections.abc import Callable, Sequence

__all__ = ["in_turns"]

ROUNDS = 5
# Freed memory is kept, as in a process that has run for a while. Otherwise the layout of memory determines whether the system reclaims the
# memory of a page after each page, which can double the time of the parser alone.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # from glibc's malloc.h
KEPT_BYTES = 32 << 20


def in_turns(works: Sequence[Callable[[bytes], object]], pages: Sequence[bytes], rounds: int = ROUNDS) -> list[float]:
    """Return the CPU seconds of each function over all pages: for each page the best of several rounds."""
    _keep_memory()
    total = [0.0] * len(works)
    for page in pages:
        best = [float("inf")] * len(works)
        for _ in range(rounds):
            for i, work in enumerate(works):
                start = time.process_time()
                work(page)
                best[i] = min(best[i], time.process_time() - start)
        total = [a + b for a, b in zip(total, best, strict=True)]
    return total


def _keep_memory() -> None:
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(M_TRIM_THRESHOLD, 8 * KEPT_BYTES)
        library.mallopt(M_MMAP_THRESHOLD, KEPT_BYTES)
