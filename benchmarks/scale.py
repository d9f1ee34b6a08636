"""What a site costs as measured, and what many sites on many machines would: the figures of `docs/scale.md`.

    python -m benchmarks.scale measure [ADDRESS…] [--budget 400]    harvests of demo layouts and of sites on loopback → scale.json
    python -m benchmarks.scale pages                                 answers of real sites in the corpora → scale.json
    python -m benchmarks.scale postgres                              transactions a second of Debian's PostgreSQL here → scale.json
    python -m benchmarks.scale check                                 the simulation of flows against one of single requests
    python -m benchmarks.scale simulate [--hosts 10000000]           10 to 100,000 workers; writes docs/pictures/scale.svg
    python -m benchmarks.scale cost [--sites 1000000]                CPU hours, terabytes, requests and money

The first three write what they measured to `benchmarks/scale.json`, the others read it. The model is in `benchmarks/scale_model.py`.
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
from pathlib import Path
from typing import Any

from benchmarks.corpora import CORPORA, by_site, labels, require
from benchmarks.scale_model import Costs, Limits, Sites, exact, flows
from upwell import api
from upwell.answers.totals import read_totals
from upwell.demo import Switches, serve
from upwell.harvest.plan import Plan
from upwell.net.manners import Manners
from upwell.page.tree import read
from upwell.source.apply import apply
from upwell.source.learn import learn_source

MEASURED = Path(__file__).with_name("scale.json")
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "scale.svg"
LAYOUTS = ("list", "table", "cards")
WORKERS = (10, 1_000, 100_000)
TRANSACTIONS = "INSERT INTO outcomes (site, request, outcome) VALUES (1, md5(random()::text), repeat('x', 400));"


def main() -> None:
    """One of the commands above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["measure", "pages", "postgres", "check", "simulate", "cost"])
    parser.add_argument("addresses", nargs="*")
    parser.add_argument("--budget", type=int, default=400)
    parser.add_argument("--hosts", type=int, default=10_000_000)
    parser.add_argument("--sites", type=int, default=1_000_000)
    options = parser.parse_args()
    if options.command == "measure":
        _save({"harvests": measure(options.addresses, options.budget)})
    elif options.command == "pages":
        _save({"pages": pages()})
    elif options.command == "postgres":
        _save({"postgres": postgres()})
    elif options.command == "check":
        check(_costs())
    elif options.command == "simulate":
        simulate(_costs(), options.hosts)
    else:
        cost(_costs(), options.sites)


def _save(found: dict[str, Any]) -> None:
    known = json.loads(MEASURED.read_text()) if MEASURED.is_file() else {}
    MEASURED.write_text(json.dumps(known | found, indent=1) + "\n")


# What a site costs


def measure(addresses: list[str], budget: int) -> dict[str, Any]:
    """Harvests in processes of their own: CPU, bytes and memory for each request, and the memory of a further site."""
    context = multiprocessing.get_context("spawn")
    rows = []
    sites = [(f"demo, {layout}", serve(Switches(layout=layout))) for layout in LAYOUTS]  # type: ignore[arg-type] # names of layouts
    for name, site in sites:
        with site as running, context.Pool(1) as pool:
            rows.append({"site": name, **pool.apply(_harvest, ([running.url], budget))})
            _print(rows[-1])
    for address in addresses:
        with context.Pool(1) as pool:
            rows.append({"site": address.rstrip("/").rpartition(":")[2], **pool.apply(_harvest, ([address], budget))})
            _print(rows[-1])
    many = [serve(Switches()) for _ in range(11)]
    urls = [site.__enter__().url for site in many]
    memory = []
    for count in (1, len(urls)):
        with context.Pool(1) as pool:
            memory.append(pool.apply(_harvest, (urls[:count], 120))["megabytes"])
    for site in many:
        site.__exit__(None, None, None)
    of_site = (memory[1] - memory[0]) / (len(urls) - 1)
    print(f"memory of one site {memory[0]:.0f} MB, of each further one at once {of_site:.1f} MB (120 requests each)")
    means = {key: statistics.mean(row[key] for row in rows) for key in rows[0] if key != "site"}
    print("mean: ", end="")
    _print({"site": "all", **means})
    return {"rows": rows, "mean": means, "megabytes_of_process": memory[0], "megabytes_of_site": of_site}


def _harvest(urls: list[str], budget: int) -> dict[str, float]:
    """One run in this process."""
    with tempfile.TemporaryDirectory() as folder:
        plan, manners = Plan(budget=budget, browser="never"), Manners(rate=0)
        before = time.process_time()
        results = [
            one for one in api.harvest_all(urls, out=folder, plan=plan, manners=manners) if isinstance(one, api.Result)
        ]
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


def _print(row: dict[str, Any]) -> None:
    print(
        f"{row['site']:<16} {row['requests']:>6.0f} requests {row['records']:>7.0f} records {row['cpu_ms']:6.1f} ms CPU a request, "
        f"{row['archive_bytes'] / 1000:6.1f} KB archive, {row['state_bytes'] / 1000:5.1f} KB state, "
        f"{row['table_bytes']:5.0f} bytes of table a record, {row['megabytes']:4.0f} MB",
        flush=True,
    )


def pages() -> dict[str, float]:
    """Answers of real sites: bytes, packed bytes, CPU of reading and applying, and how many matches they state."""
    require()
    corpus = CORPORA / "answers" / "serp150"
    sizes, packed, totals, cpu = [], [], [], 0.0
    for rows in by_site(labels("answers/serp150")).values():
        bodies = [(corpus / row["page"]).read_bytes() for row in rows]
        model = learn_source([read(body) for body in bodies], queries=[row["query"] for row in rows])
        stated = []
        for body in bodies:
            before = time.process_time()
            tree = read(body)
            apply(model, tree)
            cpu += time.process_time() - before
            sizes.append(len(body))
            packed.append(len(gzip.compress(body, 6)))
            stated.append(read_totals(tree).total or 0)
        if max(stated):
            totals.append(math.log(max(stated)))
    found = {
        "pages": len(sizes),
        "bytes": statistics.mean(sizes),
        "packed_bytes": statistics.mean(packed),
        "read_ms": 1000 * cpu / len(sizes),
        "sites_with_total": len(totals),
        "median_total": math.exp(statistics.median(totals)),
        "sigma_total": statistics.stdev(totals),
        "largest_total": math.exp(max(totals)),
    }
    for name, value in found.items():
        print(f"{name:<18} {value:,.1f}")
    return found


def postgres() -> dict[str, float]:
    """Transactions a second that each insert one row of 400 bytes, as pgbench measures them, with 8 and 64 connections."""
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


# What many sites would cost


def _costs() -> Costs:
    """The costs of a request and the sizes of sources, as measured."""
    known = json.loads(MEASURED.read_text())
    harvest, real = known["harvests"]["mean"], known["pages"]
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
        megabytes=known["harvests"]["megabytes_of_process"],
        megabytes_of_site=known["harvests"]["megabytes_of_site"],
    )


def check(costs: Costs) -> None:
    """The end of a small crawl by flows, against the same by events of single requests."""
    for workers, at_once, hosts in ((2, 20, 400), (10, 50, 2_000), (2, 200, 2_000)):
        sites = Sites.made(hosts, costs, seed=workers + at_once, max_requests=2_000)
        limits = Limits(workers=workers, at_once=at_once)
        by_flow, by_event = flows(sites, costs, limits), exact(sites, costs, limits)
        print(
            f"{workers} workers × {at_once} at once, {hosts:,} hosts, {sites.requests.sum():,.0f} requests: "
            f"flows {by_flow.hours:.2f} h, single requests {by_event:.2f} h ({by_flow.hours / by_event - 1:+.1%})"
        )


def simulate(costs: Costs, hosts: int) -> None:
    """Prints how long it takes, what binds, and draws the progress."""
    from benchmarks.scale_plot import draw

    curves = {}
    for max_requests in (1_000, 100_000):
        sites = Sites.made(hosts, costs, seed=1, max_requests=max_requests)
        total = sites.requests.sum()
        print(
            f"{hosts:,} hosts, at most {max_requests:,} requests each: {total:,.0f} requests, {total * costs.archive / 1e12:,.0f} TB of archive"
        )
        for workers in WORKERS:
            for shared in (True, False):
                limits = Limits(workers=workers, databases=1 if shared else max(1, workers // 50))
                found = flows(sites, costs, limits)
                print(
                    f"  {workers:>7,} workers, {limits.databases:>5,} databases: {_time(found.hours)}, half of the requests after {_time(found.half)}; "
                    f"peak {found.peak:,.0f} requests a second; bound by {found.bound}; "
                    + ", ".join(f"{name} {share:.0%}" for name, share in found.use.items()),
                    flush=True,
                )
                if max_requests == 1_000:
                    curves[
                        f"{workers:,} workers, {limits.databases:,} {'database' if limits.databases == 1 else 'databases'}"
                    ] = found.curve
    PICTURE.write_text(draw(curves))


def cost(costs: Costs, count: int) -> None:
    """A crawl of so many sources: prices are arguments of the model, stated with it."""
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
