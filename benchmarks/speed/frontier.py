"""The frontier with a million URLs of one source: memory, disk, and URLs a second, with the roles of arguments applied.

The reference is the same question to a set of canonical texts in memory. Run: `python -m benchmarks.speed.frontier [URLs]`.
"""

import gc
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from upwell.answers.roles import Argument, Roles
from upwell.store.frontier import Frontier

WORDS = ("river", "stone", "market", "summer", "garden", "winter", "bridge", "castle", "island", "harbour")
ROLES = Roles(
    query="q",
    arguments={
        name: Argument(role=role, prevalence=0.5, why="the benchmark")  # type: ignore[arg-type] # literals
        for name, role in {"q": "query", "page": "page", "sort": "sort", "ref": "tracking", "brand": "filter"}.items()
    },
)


def urls(number: int, *, sort: str, ref: int) -> Iterator[str]:
    """Different searches of one source, as its pages write them."""
    for i in range(number):
        word = WORDS[i % 10]
        yield f"https://catalogue.example.org/search?q={word}+{i // 97}&brand={i % 97}&sort={sort}&page={i % 7}&ref={ref:08x}"


def resident() -> float:
    """Memory of this process in MB, now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def timed(what: str, number: int, work: Iterable[bool]) -> float:
    """Runs a question for each URL; prints and returns URLs a second."""
    start = time.perf_counter()
    true = sum(work)
    rate = number / (time.perf_counter() - start)
    print(f"{what:<58}{rate:>10,.0f} a second, {true:,} of {number:,} yes")
    return rate


def main(number: int) -> None:
    asked = min(number, 100_000)
    gc.collect()
    before = resident()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frontier.sqlite"
        with Frontier(path, canonical=ROLES.canonical) as frontier:
            start = time.perf_counter()
            added = frontier.add(urls(number, sort="name", ref=1))
            rate = number / (time.perf_counter() - start)
            print(f"{'added, new ones':<58}{rate:>10,.0f} a second, {added:,} of {number:,} new")
            start = time.perf_counter()
            again = frontier.add(urls(asked, sort="price", ref=2))
            print(
                f"{'added again with other order, page and tracking':<58}{asked / (time.perf_counter() - start):>10,.0f} a second, {again:,} new"
            )
            memory = resident() - before
            seen = timed("seen? with roles applied, seen", asked, map(frontier.seen, urls(asked, sort="date", ref=3)))
            fresh = (url.replace("q=", "q=un") for url in urls(asked, sort="date", ref=3))
            timed("seen? with roles applied, not seen", asked, map(frontier.seen, fresh))
            start = time.perf_counter()
            taken = sum(len(frontier.take(100)) for _ in range(100))
            print(f"{'taken, a hundred at a time':<58}{taken / (time.perf_counter() - start):>10,.0f} a second")
            disk = sum(file.stat().st_size for file in Path(folder).iterdir()) / 1e6
        print(f"memory +{memory:.1f} MB, disk {disk:.0f} MB for {added:,} URLs")
        before = resident()
        known = {ROLES.canonical(url) for url in urls(number, sort="name", ref=1)}
        print(f"a set in memory: +{resident() - before:.0f} MB")
        held = timed(
            "seen? in that set", asked, (ROLES.canonical(url) in known for url in urls(asked, sort="date", ref=3))
        )
        print(f"on disk against in memory: {seen / held:.2f} times the speed")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
