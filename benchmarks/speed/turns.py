"""CPU time of several works over the same pages, which take turns: other work on the machine slows all of them alike."""

import time
from collections.abc import Callable, Sequence

__all__ = ["in_turns"]

ROUNDS = 5


def in_turns(works: Sequence[Callable[[bytes], object]], pages: Sequence[bytes], rounds: int = ROUNDS) -> list[float]:
    """CPU seconds of each work over all pages: for each page the best of several rounds."""
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
