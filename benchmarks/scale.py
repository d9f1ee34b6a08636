"""Cost of harvesting a site as measured, and of many sites on many machines as simulated: the figures of `docs/scale.md`.

    python -m benchmarks.scale measure PLACE… [--budget 300]      harvest; a place is a layout of the demo site, or the URL of a site on loopback
    python -m benchmarks.scale memory                             memory of a process with one site, and with several
    python -m benchmarks.scale pages                              answers of real sites in the corpora
    python -m benchmarks.scale postgres                           transactions per second of Debian's PostgreSQL
    python -m benchmarks.scale check                              compare the simulation of flows with one of single requests
    python -m benchmarks.scale simulate --workers N [--max-requests 1000] [--hosts 10000000]    draw docs/pictures/scale.svg
    python -m benchmarks.scale cost [--sites 1000000]             CPU hours, terabytes, requests and money

The first four commands write their measurements to `benchmarks/scale.json`, the others read it. The model is in `benchmarks/scale_model.py`.
"""

import argparse
import gzip
import json
import math
import multiprocessing
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.corpora import CORPORA, by_site, labels, require
from benchmarks.scale_model import Costs, Limits, Sites, exact, flows
from benchmarks.scale_plot import draw
from upwell import api
from upwell.answers.answer import Answer
from upwell.answers.totals import read_totals
from upwell.choose.plan import Plan
from upwell.demo import Switches, serve
from upwell.net.manners import Manners
from upwell.page.tree import read
from upwell.source.apply import apply
from upwell.source.learn import learn_source

MEASURED = Path(__file__).with_name("scale.json")
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "scale.svg"
DRAWN_REQUESTS = 1_000  # largest number of requests per host, in the picture
TRANSACTIONS = "INSERT INTO outcomes (site, request, outcome) VALUES (1, md5(random()::text), repeat('x', 400));"


def main() -> None:
    """Run one of the commands above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["measure", "memory", "pages", "postgres", "check", "simulate", "cost"])
    parser.add_argument("places", nargs="*")
    parser.add_argument("--budget", type=int, default=300)
    parser.add_argument("--hosts", type=int, default=10_000_000)
    parser.add_argument("--workers", type=int, default=1_000)
    parser.add_argument("--max-requests", type=int, default=DRAWN_REQUESTS)
    parser.add_argument("--sites", type=int, default=1_000_000)
    options = parser.parse_args()
    if options.command == "measure":
        for place in options.places:
            _save("harvests", {_name(place): measure(place, options.budget)})
    elif options.command == "memory":
        _save("memory", memory())
    elif options.command == "pages":
        _save("pages", pages())
    elif options.command == "postgres":
        _save("postgres", postgres())
    elif options.command == "check":
        check(_costs())
    elif options.command == "simulate":
        curves = simulate(_costs(), options.hosts, options.workers, options.max_requests)
        if options.max_requests == DRAWN_REQUESTS:
            _save("curves", curves)
            PICTURE.write_text(draw(_read()["curves"]))
    else:
        cost(_costs(), options.sites)


def _name(place: str) -> str:
    return f"port {place.rstrip('/').rpartition(':')[2]}" if "://" in place else f"demo, {place}"


def _read() -> dict[str, dict[str, Any]]:
    known: dict[str, dict[str, Any]] = json.loads(MEASURED.read_text()) if MEASURED.is_file() else {}
    return known


def _save(part: str, found: dict[str, Any]) -> None:
    known = _read()
    MEASURED.write_text(json.dumps({**known, part: {**known.get(part, {}), **found}}, indent=1) + "\n")


# Cost of a site


def measure(place: str, budget: int) -> dict[str, Any]:
    """Harvest in a separate process; return CPU, bytes and memory per request."""
    context = multiprocessing.get_context("spawn")
    with _served(place) as url, context.Pool(1) as pool:
        row = pool.apply(_harvest, ([url], budget))
    _print(place, row)
    return row


@contextmanager
def _served(place: str) -> Iterator[str]:
    """Return the URL of a place; the name of a layout is that of a demo site."""
    if "://" in place:
        yield place
        return
    with serve(Switches.parse([f"layout={place}"])) as site:
        yield site.url


def memory(count: int = 11, budget: int = 60) -> dict[str, float]:
    """Measure the memory of a process with one site, and with several concurrent sites."""
    context = multiprocessing.get_context("spawn")
    with ExitStack() as running:
        urls = [running.enter_context(serve(Switches())).url for _ in range(count)]
        found = []
        for some in (urls[:1], urls):
            with context.Pool(1) as pool:
                found.append(pool.apply(_harvest, (some, budget))["megabytes"])
    of_site = (found[1] - found[0]) / (count - 1)
    print(f"one site {found[0]:.0f} MB, each further one at once {of_site:.1f} MB ({budget} requests each)")
    return {"process": found[0], "site": of_site}


def _harvest(urls: list[str], budget: int) -> dict[str, float]:
    """Run one harvest in this process."""
    with tempfile.TemporaryDirectory() as folder:
        plan, manners = Plan(budget=budget, browser="never"), Manners(rate=0)
        running = api.RunOptions(engine="inline")
        before = time.process_time()
        harvested = api.harvest_all(urls, out=folder, plan=plan, manners=manners, running=running)
        results = [one for one in harvested if isinstance(one, api.Result)]
        cpu = time.process_time() - before
        requests = sum(one.summary["requests"] for one in results)
        records = sum(one.summary["records"] for one in results)
        archive = sum(path.stat().st_size for path in Path(folder).rglob("*.warc.gz"))
        state = sum(path.stat().st_size for path in Path(folder).rglob("state.sqlite"))
        tables = sum(path.stat().st_size for path in Path(folder).rglob("records*.parquet"))
    return {
        "requests": requests,
        "records": records,
        "cpu_ms": 1000 * cpu / requests,
        "archive_bytes": archive / requests,
        "state_bytes": state / requests,
        "table_bytes": tables / max(1, records),
        "records_a_request": records / requests,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
    }


def _print(name: str, row: dict[str, Any]) -> None:
    print(
        f"{name:<24} {row['requests']:>6.0f} requests {row['records']:>7.0f} records {row['cpu_ms']:6.1f} ms CPU a request, "
        f"{row['archive_bytes'] / 1000:6.1f} KB archive, {row['state_bytes'] / 1000:5.1f} KB state, "
        f"{row['table_bytes']:5.0f} bytes of table a record, {row['megabytes']:4.0f} MB",
        flush=True,
    )


def pages() -> dict[str, float]:
    """Measure answers of real sites: bytes, compressed bytes, CPU of reading and applying, and stated totals."""
    require()
    corpus = CORPORA / "answers" / "serp150"
    sizes, packed, totals, cpu = [], [], [], []
    for number, rows in enumerate(by_site(labels("answers/serp150")).values()):
        bodies = [(corpus / row["page"]).read_bytes() for row in rows]
        trees = [read(body) for body in bodies]
        if number % 4 == 0:  # every fourth site is sufficient for the CPU of a page
            model = learn_source([Answer(tree, row["query"]) for row, tree in zip(rows, trees, strict=True)])
            for body in bodies:
                before = time.process_time()
                apply(model, read(body))
                cpu.append(time.process_time() - before)
        stated = []
        for body, tree in zip(bodies, trees, strict=True):
            sizes.append(len(body))
            packed.append(len(gzip.compress(body, 6)))
            stated.append(read_totals(tree).total or 0)
        if max(stated):
            totals.append(math.log(max(stated)))
    found = {
        "pages": len(sizes),
        "bytes": statistics.mean(sizes),
        "packed_bytes": statistics.mean(packed),
        "read_ms": 1000 * statistics.mean(cpu),
        "sites_with_total": len(totals),
        "median_total": math.exp(statistics.median(totals)),
        "sigma_total": statistics.stdev(totals),
        "largest_total": math.exp(max(totals)),
    }
    for name, value in found.items():
        print(f"{name:<18} {value:,.1f}")
    return found


def postgres() -> dict[str, float]:
    """Measure transactions per second, each inserting one row of 400 bytes, with pgbench and 8 and 64 connections."""
    (programs,) = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1:]
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="upwell-pg-") as folder:
        subprocess.run(["/usr/bin/chown", "postgres", folder], check=True)

        def run(*command: str) -> str:
            whole = ["/usr/sbin/runuser", "-u", "postgres", "--", str(programs / command[0]), *command[1:]]
            return subprocess.run(whole, check=True, capture_output=True, text=True, cwd=folder).stdout

        run("initdb", "-D", f"{folder}/data", "-A", "trust")
        script = Path(folder, "insert.sql")
        script.write_text(TRANSACTIONS)
        run("pg_ctl", "-D", f"{folder}/data", "-w", "-l", f"{folder}/log", "-o", f"-k {folder} -h ''", "start")
        try:
            run(
                "psql",
                "-h",
                folder,
                "-d",
                "postgres",
                "-c",
                "CREATE TABLE outcomes (id bigserial PRIMARY KEY, site int, request text, outcome text)",
            )
            for clients in (8, 64):
                out = run(
                    "pgbench",
                    "-h",
                    folder,
                    "-n",
                    "-f",
                    str(script),
                    "-c",
                    str(clients),
                    "-j",
                    "2",
                    "-T",
                    "10",
                    "postgres",
                )
                tps = float(next(line for line in out.splitlines() if line.startswith("tps")).split()[2])
                found[f"transactions_{clients}"] = tps
                print(f"{clients} connections: {tps:,.0f} transactions a second")
        finally:
            run("pg_ctl", "-D", f"{folder}/data", "-m", "fast", "stop")
    return found


# Cost of many sites


def _costs() -> Costs:
    """Return the costs of a request and the sizes of sources, as measured."""
    known = _read()
    rows, real = list(known["harvests"].values()), known["pages"]
    harvest = {key: statistics.mean(row[key] for row in rows) for key in rows[0]}
    return Costs(
        cpu=harvest["cpu_ms"] / 1000 + real["read_ms"] / 1000,
        bytes=real["bytes"],
        archive=real["packed_bytes"],
        state=harvest["state_bytes"],
        table=harvest["table_bytes"],
        records=harvest["records_a_request"],
        transactions=max(known["postgres"].values()),
        median_size=real["median_total"],
        sigma_size=real["sigma_total"],
        largest_size=real["largest_total"],
        megabytes=known["memory"]["process"],
        megabytes_of_site=known["memory"]["site"],
    )


def check(costs: Costs) -> None:
    """Compare the duration of a small crawl simulated with flows and with single requests."""
    for workers, at_once, hosts in ((2, 20, 400), (10, 50, 2_000), (2, 200, 2_000)):
        sites = Sites.made(hosts, costs, seed=workers + at_once, max_requests=2_000)
        limits = Limits(workers=workers, at_once=at_once)
        by_flow, by_event = flows(sites, costs, limits), exact(sites, costs, limits)
        print(
            f"{workers} workers × {at_once} at once, {hosts:,} hosts, {sites.requests.sum():,.0f} requests: "
            f"flows {by_flow.hours:.2f} h, single requests {by_event:.2f} h ({by_flow.hours / by_event - 1:+.1%})"
        )


def simulate(costs: Costs, hosts: int, workers: int, max_requests: int) -> dict[str, Any]:
    """Print the duration and the bottleneck, with one database for all workers, and with one for every 50 workers."""
    sites = Sites.made(hosts, costs, seed=1, max_requests=max_requests)
    total = sites.requests.sum()
    print(
        f"{hosts:,} hosts, at most {max_requests:,} requests each: {total:,.0f} requests, {total * costs.archive / 1e12:,.0f} TB of archive"
    )
    curves = {}
    for databases in sorted({1, max(1, workers // 50)}):
        found = flows(sites, costs, Limits(workers=workers, databases=databases))
        print(
            f"  {workers:>7,} workers, {databases:>5,} databases: {_time(found.hours)}, half of the requests after {_time(found.half)}; "
            f"peak {found.peak:,.0f} requests a second; bound by {found.bound}; wanted at the peak: "
            + ", ".join(f"{name} {share:.0%}" for name, share in found.use.items()),
            flush=True,
        )
        curves[f"{workers:,} workers, {databases:,} {'database' if databases == 1 else 'databases'}"] = found.curve
    return curves


def cost(costs: Costs, count: int) -> None:
    """Print the cost of a crawl of a number of sources; prices are arguments of the model."""
    for max_requests in (100, 1_000, 10_000, 100_000):
        sites = Sites.made(count, costs, seed=2, max_requests=max_requests)
        requests = float(sites.requests.sum())
        hours, stored = requests * costs.cpu / 3600, requests * costs.archive / 1e12
        state = requests * costs.state / 1e12
        records = float(sites.held.sum())
        tables = records * costs.table / 1e12
        money = hours * costs.price_cpu_hour + (stored + state + tables) * costs.price_terabyte_month
        print(
            f"{count:,} sources, at most {max_requests:,} requests each: {requests:,.0f} requests, {records:,.0f} of {sites.sizes.sum():,.0f} records, "
            f"{hours:,.0f} CPU hours, {stored:,.1f} TB archive, {state:,.2f} TB state, {tables:,.2f} TB tables, "
            f"received {requests * costs.bytes / 1e12:,.1f} TB; "
            f"{money:,.0f} dollars with a month of storage (CPU {hours * costs.price_cpu_hour:,.0f})"
        )


def _time(hours: float) -> str:
    return f"{hours / 24:,.1f} days" if hours >= 48 else f"{hours:,.1f} h"


if __name__ == "__main__":
    main()
