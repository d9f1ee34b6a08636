"""Cluster 5.5 million synthetic pages, as many as Thor §VII-A, by TFIDF of tags, with one source in memory at a time: `python -m benchmarks.speed.large`."""

import resource
import sys
import time

import numpy as np

from benchmarks.corpora import CORPORA, require
from benchmarks.papers import _kinds
from benchmarks.papers._synthetic import known, stream


def main(times: int = 50, pages: int = 110_000) -> int:
    require()
    sources = [known(source, "tfidf-tags") for source in _kinds.sources(CORPORA)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    started, spent, entropies = time.process_time(), [], []
    for name, entropy, seconds in stream(sources, times, pages):
        spent.append(seconds)
        entropies.append(entropy)
        print(f"{len(spent):>3} {name:<12} entropy {entropy:.3f}  {seconds:6.1f} s", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(
        f"{times * pages:,} pages: {sum(spent):.0f} CPU s to cluster, {time.process_time() - started:.0f} with making them; "
        f"mean entropy {np.mean(entropies):.3f}; peak memory {peak:.0f} MB ({before:.0f} MB after reading the real pages)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
