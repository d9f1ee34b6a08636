"""Complete harvest relative to a hand-written Scrapy spider for the same requests: `python -m benchmarks.speed.harvest`.

Without arguments the demo site is harvested. For another site, give its URL and the CSS selectors of a record, of the link to the next
page, and of the fields:

    python -m benchmarks.speed.harvest http://127.0.0.1:8000/ "li.result" "a[rel=next]" "h3 a::text" "p::text"

For the demo site and several others, set the variable `SITES` to a file with such a line for each, separated by tabs: `make speed
SITES=sites.tsv`.

The server, the harvest and the spider are separate processes. The harvest runs first; the spider requests the same URLs, finds the
records and the next page on each, and writes the records as JSON lines. The total CPU time of the processes is compared, including start
and end, and for the harvest that of its supervisor and of its worker. Then the harvest is continued with a budget of one more request:
measured is the cost until the next answer, including the start of the process, and the cost including the tables written at the end. This
and the stages are measured in a single process (`--engine inline`). All processes run from bytecode, like installed packages.
"""

import compileall
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import upwell
from upwell.many_sites import RunOptions

BAR = 0.8  # largest ratio of our CPU time to that of the spider
REPLAY_BAR = 0.1  # largest ratio of the CPU time until a continued harvest has its next answer to that of the harvest
BUDGET = 700
MAX_UNCOUNTED = 20  # requests of a harvest that are not among the URLs: robots.txt, redirects, retries
ROUNDS = int(os.environ.get("ROUNDS", "2"))
CONCURRENT_REQUESTS = 16
DEMO = ("li.city", ".pager span + a", "h3 a::text", ".country::text", ".region::text", ".continent::text", ".population::text", ".timezone::text",
        ".also::text")  # fmt: skip
# Stages of a harvest: the functions of each stage, which do not call each other. In addition, "start" is everything before the first
# request, "end" what is written after the last answer was read, and "fetch" the remaining work of the loop.
STAGES = {
    "archive": ("upwell.store.archive:Archive.write",),
    "read": ("upwell.harvest.reader:read_page",),
    "apply": (
        "upwell.harvest.reader:apply",
        "upwell.harvest.session:read_totals",
        "upwell.harvest.session:next_page_of",
    ),
    "choose": (
        "upwell.choose.chooser:Chooser.next",
        "upwell.choose.chooser:Chooser.take",
        "upwell.choose.chooser:Chooser.reason_to_stop",
    ),
    "keep": (
        "upwell.store.state:State.store",
        "upwell.harvest.session:SourceSession._keep",
        "upwell.harvest.record_pages:RecordPageReader.add",
        "upwell.harvest.checkpoint:Checkpoint.save_if_due",
    ),
    "learn": (
        "upwell.harvest.reader:learn_source",
        "upwell.harvest.reader:learn_roles",
        "upwell.harvest.record_pages:RecordPageReader.learn",
    ),
}


def _serve() -> None:
    from upwell.demo import serve

    with serve() as site:
        print(site.url, flush=True)
        sys.stdin.readline()


def _harvest(url: str, folder: str, budget: int, measured: str) -> None:
    """Run one harvest; print the CPU seconds of all its processes, and as `measured` says those until the first answer or of each stage."""
    stages = _Stages() if measured == "stages" else None
    first_answer = _FirstAnswer() if measured == "first answer" else None
    running = RunOptions(engine="inline" if measured else "local")
    upwell.harvest(url, out=folder, plan=upwell.Plan(budget=budget), manners=upwell.Manners(rate=0), running=running)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    figures: dict[str, Any] = {"cpu": sum(usage.ru_utime + usage.ru_stime for usage in used)}
    if stages is not None:
        figures["stages"] = stages.seconds()
    if first_answer is not None:
        figures["first_answer"] = first_answer.seconds
    print(json.dumps(figures))


class _FirstAnswer:
    """Records the CPU seconds of this process until the first answer that was not held before."""

    def __init__(self) -> None:
        from upwell.store.archive import Archive

        self.seconds, write = 0.0, Archive.write

        @wraps(write)
        def first_write(*args: Any, **kwargs: Any) -> Any:
            self.seconds = time.process_time()
            Archive.write = write  # type: ignore[method-assign] # as it was
            return write(*args, **kwargs)

        Archive.write = first_write  # type: ignore[method-assign] # for one call


class _Stages:
    """CPU costs of the stages of the harvest in this process."""

    def __init__(self) -> None:
        from upwell.harvest import loop

        self.spent = dict.fromkeys(("start", "fetch", *STAGES, "end"), 0.0)
        self._loop_thread = 0.0
        for stage, functions in STAGES.items():
            for name in functions:
                _time(name, self, stage)
        self._run = loop.run
        loop.run = self._timed_run

    async def _timed_run(self, *args: Any, **kwargs: Any) -> Any:
        self.spent["start"], self._loop_thread = time.process_time(), threading.get_ident()
        before = time.thread_time()
        try:
            return await self._run(*args, **kwargs)
        finally:
            self.spent["fetch"] += time.thread_time() - before
            self.spent["end"] = -time.process_time()

    def add(self, stage: str, seconds: float) -> None:
        """Add the time of a call; it does not count as fetching if the loop made the call."""
        self.spent[stage] += seconds
        if threading.get_ident() == self._loop_thread:
            self.spent["fetch"] -= seconds

    def seconds(self) -> dict[str, float]:
        """Return the CPU seconds of each stage, and of everything outside them."""
        self.spent["end"] += time.process_time()
        return {**self.spent, "rest": time.process_time() - sum(self.spent.values())}


def _time(name: str, stages: _Stages, stage: str) -> None:
    """Wrap a function so that its calls are added to its stage."""
    module_name, _, path = name.partition(":")
    owner: Any = import_module(module_name)
    *classes, last = path.split(".")
    for part in classes:
        owner = getattr(owner, part)
    function: Callable[..., Any] = getattr(owner, last)

    @wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.thread_time()
        try:
            return function(*args, **kwargs)
        finally:
            stages.add(stage, time.thread_time() - start)

    setattr(owner, last, timed)


def _spider(addresses: str, output: str, selectors: list[str]) -> None:
    """Return a spider as a user would write it for this site."""
    import scrapy
    from scrapy.crawler import CrawlerProcess

    record, next_page, *columns = selectors
    pages: set[str] = set()  # pages linked as next: the harvest requested these, or had stopped

    class Spider(scrapy.Spider):
        name = "by-hand"
        start_urls = Path(addresses).read_text().split()

        def parse(self, response: Any) -> Any:
            for found in response.css(record):
                fields = {name: found.css(name).get() for name in columns}
                yield {"url": response.urljoin(found.css("a::attr(href)").get() or ""), **fields}
            if following := response.css(next_page).attrib.get("href"):
                pages.add(response.urljoin(following))

    settings = {
        "LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False, "ROBOTSTXT_OBEY": False, "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENT_REQUESTS, "FEEDS": {output: {"format": "jsonlines"}},
        "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    }  # fmt: skip
    process = CrawlerProcess(settings=settings)
    process.crawl(Spider)
    process.start()
    print(json.dumps({"cpu": time.process_time()}))


def _asked(folder: Path) -> list[str]:
    """Return the URLs of the answers that a harvest archived."""
    from fastwarc import ArchiveIterator, WarcRecordType

    found = []
    for file in sorted(folder.rglob("*.warc*")):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response):
                address = record.headers.get("WARC-Target-URI")
                if address and not address.endswith("/robots.txt"):
                    found.append(address)
    return found


def _run(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.speed.harvest", *arguments]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return json.loads(lines[-1])  # type: ignore[no-any-return] # what the child printed


def measure(url: str, selectors: list[str]) -> tuple[list[tuple[str, float, float, float]], dict[str, float], int]:
    """Return rows (name, ours, reference, bar), CPU seconds of each stage, and the number of requests."""
    # with PYTHONDONTWRITEBYTECODE our modules would be compiled at each start, but not Scrapy's
    compileall.compile_dir(str(Path(upwell.__file__).parent), quiet=1)
    ours, theirs, replays, ends = [], [], [], []
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(ROUNDS):  # alternating, so that other programs on the machine slow all of them equally
            folder = Path(scratch) / str(number)
            ours.append(_run("harvest", url, str(folder), str(BUDGET), "")["cpu"])
            addresses = Path(scratch) / "addresses.txt"
            addresses.write_text("\n".join(asked := _asked(folder)))
            output = str(Path(scratch) / f"{number}.jsonl")
            theirs.append(_run("spider", str(addresses), output, *selectors)["cpu"])
            if len(asked) > BUDGET - MAX_UNCOUNTED:  # otherwise it has ended, and there is nothing to continue
                again = _run("harvest", url, str(folder), str(BUDGET + 1), "first answer")
                replays.append(again["first_answer"])
                ends.append(again["cpu"])
        stages = _run("harvest", url, str(Path(scratch) / "timed"), str(BUDGET), "stages")["stages"]
    best, spider = min(ours), min(theirs)
    rows = [("a harvest", best, spider, BAR)]
    if replays:
        rows.append(("going on to the next answer", min(replays), best, REPLAY_BAR))
        rows.append(("going on, all of it", min(ends), best, math.inf))
    return rows, stages, len(asked)


@contextmanager
def demo_site() -> Iterator[str]:
    """Run the demo site in a separate process."""
    command = [sys.executable, "-m", "benchmarks.speed.harvest", "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.communicate("\n")


def sites(demo: str) -> list[tuple[str, list[str]]]:
    """Return the URLs to harvest, each with the selectors of its spider."""
    lines = Path(os.environ["SITES"]).read_text().splitlines() if os.environ.get("SITES") else []
    further = [(address, selectors) for address, *selectors in (line.split("\t") for line in lines if line)]
    return [(demo, list(DEMO)), *further]


def main() -> int:
    broken = False
    with demo_site() as demo:
        for url, selectors in [(sys.argv[1], sys.argv[2:])] if sys.argv[2:] else sites(demo):
            rows, stages, requests = measure(url, selectors)
            print(f"{url}: {requests} requests; CPU seconds, best of {ROUNDS} rounds\n")
            print(f"{'':<30}{'upwell':>9}{'reference':>11}{'ratio':>8}{'bar':>6}")
            for name, ours, reference, bar in rows:
                print(f"{name:<30}{ours:>9.2f}{reference:>11.2f}{ours / reference:>8.2f}{bar:>6g}")
                broken |= ours > bar * reference
            print(
                "where the time goes: " + ", ".join(f"{name} {s:.2f}" for name, s in stages.items()) + "\n", flush=True
            )
    return int(broken)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve"]:
            _serve()
        case ["harvest", url, folder, budget, measured]:
            _harvest(url, folder, int(budget), measured)
        case ["spider", addresses, output, *selectors]:
            _spider(addresses, output, selectors)
        case _:
            sys.exit(main())
